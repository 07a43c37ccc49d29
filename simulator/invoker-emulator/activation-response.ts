import type { EndpointAnswer } from './action-container.js';

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

export interface ActivationResponse {
  readonly kind: Outcome;
  /** The action's own answer, or the error's text. */
  readonly result: unknown;
}

export const response = (kind: Outcome, result: unknown): ActivationResponse => ({ kind, result });

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The time limit goes first (Container.initialize, Container.run), then a kill; null: the answer
 * decides.
 */
function endedEarly(
  answer: EndpointAnswer,
  durationMs: number,
  limitMs: number,
  phase: string,
): ActivationResponse | null {
  if (durationMs >= limitMs)
    return response('timeout', `${phase} exceeded its time limit of ${limitMs} ms`);
  return answer.kind === 'memory-exhausted'
    ? response('oom', 'the container was killed: out of memory')
    : null;
}

/** The error that the container reports, or that its answer is none. */
function reported(entity: string, invalid: string): ActivationResponse {
  const value = parse(entity);
  const error = isObject(value) ? value.error : undefined;
  return response('developer error', error ?? `${invalid}: ${entity}`);
}

/**
 * An `/init` that did not end with 200 (ActivationResponse.processInitResponseContent @ 1.0.0,
 * 2.0.0, 1fae641a2).
 */
export function initOutcome(
  answer: EndpointAnswer,
  durationMs: number,
  limitMs: number,
): ActivationResponse {
  const early = endedEarly(answer, durationMs, limitMs, 'initialization');
  if (early !== null) return early;
  if (answer.kind !== 'response')
    return response('developer error', 'initialization ended without an answer');
  if (answer.truncatedFrom !== null)
    return response('developer error', `answer cut from ${answer.truncatedFrom} bytes`);
  return reported(answer.entity, 'initialization gave an invalid answer');
}

/**
 * What `/run` answered (ActivationResponse.processRunResponseContent @ 1.0.0, 2.0.0, 1fae641a2;
 * arrays since 2.0.0).
 */
export function runOutcome(
  answer: EndpointAnswer,
  durationMs: number,
  limitMs: number,
): ActivationResponse {
  const early = endedEarly(answer, durationMs, limitMs, 'activation');
  if (early !== null) return early;
  if (answer.kind !== 'response')
    return response('developer error', 'the action ended without an answer');
  if (answer.truncatedFrom !== null)
    return response('application error', `answer cut from ${answer.truncatedFrom} bytes`);
  const value = parse(answer.entity);
  if (answer.status === 200 && Array.isArray(value)) return response('success', value);
  if (answer.status !== 200 || !isObject(value))
    return reported(answer.entity, 'the action gave an invalid answer');
  return 'error' in value ? response('application error', value.error) : response('success', value);
}
