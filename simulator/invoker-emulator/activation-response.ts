import type { EndpointAnswer } from './action-container.js';
import type { ContainerAnswer } from './container-client.js';

/**
 * How an activation ended. `timeout` and `oom` are developer errors in OpenWhisk; here they are
 * told apart.
 */
export type Outcome =
  | 'success'
  | 'application error'
  | 'developer error'
  | 'timeout'
  | 'oom'
  | 'whisk error';

/**
 * The words an activation record shows (ActivationResponse.messageForCode, ActivationResult.scala).
 */
export type Status =
  | 'success'
  | 'application error'
  | 'action developer error'
  | 'whisk internal error';

export interface ActivationResponse {
  readonly kind: Outcome;
  readonly status: Status;
  /** The action's own answer, or the error's text. */
  readonly result: unknown;
}

const words: Record<Outcome, Status> = {
  success: 'success',
  'application error': 'application error',
  'developer error': 'action developer error',
  timeout: 'action developer error',
  oom: 'action developer error',
  'whisk error': 'whisk internal error',
};

export const response = (kind: Outcome, result: unknown): ActivationResponse => ({
  kind,
  status: words[kind],
  result,
});

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const timedOut = (limitMs: number, what: string): ActivationResponse =>
  response('timeout', `${what} exceeded its time limit of ${limitMs} ms`);

const outOfMemory = (): ActivationResponse =>
  response('oom', 'the container was killed: out of memory');

/**
 * A failed `/init`: the time limit goes first (Container.initialize), then a kill, then the
 * container's own words.
 */
export function initOutcome(
  answer: EndpointAnswer,
  durationMs: number,
  limitMs: number,
): ActivationResponse {
  if (durationMs >= limitMs) return timedOut(limitMs, 'initialization');
  return answer.kind === 'memory-exhausted' ? outOfMemory() : initFailure(answer);
}

/** Any `/run`, judged in the same order (Container.run). */
export function runOutcome(
  answer: EndpointAnswer,
  durationMs: number,
  limitMs: number,
): ActivationResponse {
  if (durationMs >= limitMs) return timedOut(limitMs, 'activation');
  return answer.kind === 'memory-exhausted' ? outOfMemory() : runResponse(answer);
}

/**
 * An `/init` that did not end with 200 (ActivationResponse.processInitResponseContent @ 1.0.0,
 * 2.0.0, 1fae641a2).
 */
export function initFailure(answer: ContainerAnswer): ActivationResponse {
  if (answer.kind !== 'response')
    return response('developer error', 'initialization ended without an answer');
  if (answer.truncatedFrom !== null)
    return response('developer error', `answer cut from ${answer.truncatedFrom} bytes`);
  const value = parse(answer.entity);
  const error = isObject(value) ? value.error : undefined;
  return response(
    'developer error',
    error ?? `initialization gave an invalid answer: ${answer.entity}`,
  );
}

/**
 * What `/run` answered (ActivationResponse.processRunResponseContent @ 1.0.0, 2.0.0, 1fae641a2;
 * arrays since 2.0.0).
 */
export function runResponse(answer: ContainerAnswer): ActivationResponse {
  if (answer.kind !== 'response')
    return response('developer error', 'the action ended without an answer');
  if (answer.truncatedFrom !== null)
    return response('application error', `answer cut from ${answer.truncatedFrom} bytes`);
  const value = parse(answer.entity);
  if (answer.status !== 200) {
    const error = isObject(value) ? value.error : undefined;
    return response(
      'developer error',
      error ?? `the action gave an invalid answer: ${answer.entity}`,
    );
  }
  if (Array.isArray(value)) return response('success', value);
  if (!isObject(value))
    return response('developer error', `the action gave an invalid answer: ${answer.entity}`);
  return 'error' in value ? response('application error', value.error) : response('success', value);
}
