import { InvalidActionError } from './errors.js';

/** A function as its owner created it. */
export interface Action {
  /** Without slashes. */
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  /** Source given at `/init`. */
  readonly code: string;
  /** Name of the function in the source; default `main`. */
  readonly main?: string;
  /** Runtime, which prewarmed containers are matched by; default `nodejs:20`. */
  readonly kind?: string;
  /** limits.memory, MB; default 256. */
  readonly memoryMb?: number;
  /** limits.timeout, ms; default 60 000. */
  readonly timeoutMs?: number;
  /** limits.concurrency; default 1. */
  readonly concurrency?: number;
  /**
   * Cores of a CPU quota for this function's containers, instead of what user-cpus gives. Not an
   * OpenWhisk setting.
   */
  readonly cpus?: number;
  /** Sent as `api_key` where the annotation `provide-api-key` asks for it. */
  readonly apiKey?: string;
}

export interface ResolvedAction {
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly code: string;
  readonly main: string;
  readonly kind: string;
  readonly memoryMb: number;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly cpus: number | null;
  readonly apiKey: string | null;
  /** Equal texts are equal actions: limits count, so an update of a limit makes new containers. */
  readonly key: string;
}

export function resolveAction(action: Action): ResolvedAction {
  const where = `/${action.namespace}/${action.name}`;
  const fail = (what: string): never => {
    throw new InvalidActionError(`${where}: ${what}`);
  };
  if (action.namespace === '' || action.name === '') fail('namespace and name may not be empty');
  const memoryMb = action.memoryMb ?? 256;
  const timeoutMs = action.timeoutMs ?? 60_000;
  const concurrency = action.concurrency ?? 1;
  const cpus = action.cpus ?? null;
  if (!Number.isInteger(memoryMb) || memoryMb < 6)
    fail(`memoryMb ${memoryMb} is not an integer of 6 or more`);
  if (!(timeoutMs >= 1)) fail(`timeoutMs ${timeoutMs} is not positive`);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    fail(`concurrency ${concurrency} is not a positive integer`);
  if (cpus !== null && !(cpus >= 0.01)) fail(`cpus ${cpus} is below 0.01, the least docker allows`);
  const main = action.main ?? 'main';
  const kind = action.kind ?? 'nodejs:20';
  const key = JSON.stringify([
    where,
    action.version,
    action.code,
    main,
    kind,
    memoryMb,
    timeoutMs,
    concurrency,
    cpus,
  ]);
  return {
    namespace: action.namespace,
    name: action.name,
    version: action.version,
    code: action.code,
    main,
    kind,
    memoryMb,
    timeoutMs,
    concurrency,
    cpus,
    apiKey: action.apiKey ?? null,
    key,
  };
}

export interface ActivationIdentity {
  readonly activationId: string;
  readonly transactionId: string;
}

/**
 * Body of `/init`: fields of ExecutableWhiskAction.containerInitializer (WhiskAction.scala @ 1.0.0,
 * 2.0.0, 1fae641a2) with the environment of ContainerProxy.initializeAndRun, in the order recorded
 * (the hash order of Scala's maps).
 */
export function initBody(
  action: ResolvedAction,
  call: ActivationIdentity,
  deadlineMs: number,
): string {
  const env: Record<string, string> = { __OW_DEADLINE: String(deadlineMs) };
  if (action.apiKey !== null) env.__OW_API_KEY = action.apiKey;
  env.__OW_ACTION_NAME = `/${action.namespace}/${action.name}`;
  env.__OW_ACTION_VERSION = action.version;
  env.__OW_ACTIVATION_ID = call.activationId;
  env.__OW_NAMESPACE = action.namespace;
  env.__OW_TRANSACTION_ID = call.transactionId;
  return JSON.stringify({
    value: { name: action.name, binary: false, main: action.main, code: action.code, env },
  });
}

/**
 * Body of `/run`: Container.run (Container.scala @ 1.0.0, 2.0.0, 1fae641a2); keys sorted, `value`
 * last, as recorded.
 */
export function runBody(
  action: ResolvedAction,
  call: ActivationIdentity,
  deadlineMs: number,
  payload: unknown,
): string {
  const body: Record<string, unknown> = {
    action_name: `/${action.namespace}/${action.name}`,
    action_version: action.version,
    activation_id: call.activationId,
  };
  if (action.apiKey !== null) body.api_key = action.apiKey;
  body.deadline = String(deadlineMs);
  body.namespace = action.namespace;
  body.transaction_id = call.transactionId;
  body.value = payload;
  return JSON.stringify(body);
}
