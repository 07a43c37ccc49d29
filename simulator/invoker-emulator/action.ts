import type { ActivationResponse } from './activation-response.js';
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
}

/** An action with all defaults filled in. */
export interface ResolvedAction extends Required<Omit<Action, 'cpus'>> {
  readonly cpus: number | null;
  /** Equal texts are equal actions: limits count, so an update of a limit makes new containers. */
  readonly key: string;
}

export function resolveAction(action: Action): ResolvedAction {
  const { namespace, name, version, code } = action;
  const { main = 'main', memoryMb = 256, timeoutMs = 60_000, concurrency = 1 } = action;
  const cpus = action.cpus ?? null;
  const where = `/${namespace}/${name}`;
  const check = (isValid: boolean, problem: string): void => {
    if (!isValid) throw new InvalidActionError(`${where}: ${problem}`);
  };
  check(namespace !== '' && name !== '', 'namespace and name may not be empty');
  check(
    Number.isInteger(memoryMb) && memoryMb >= 6,
    `memoryMb ${memoryMb} is not an integer of 6 or more`,
  );
  check(timeoutMs >= 1, `timeoutMs ${timeoutMs} is not positive`);
  check(
    Number.isInteger(concurrency) && concurrency >= 1,
    `concurrency ${concurrency} is not a positive integer`,
  );
  check(cpus === null || cpus >= 0.01, `cpus ${cpus} is below 0.01, the least docker allows`);
  const resolved = { namespace, name, version, code, main, memoryMb, timeoutMs, concurrency, cpus };
  return { ...resolved, key: JSON.stringify(resolved) };
}

/** One activation on its way through the invoker. */
export interface ActivationMessage {
  readonly action: ResolvedAction;
  readonly payload: unknown;
  readonly activationId: string;
  readonly transactionId: string;
  /** performance.now() at which the invoker was given it. */
  readonly acceptedMs: number;
  /** Tells the caller, before the logs are collected (the active ack). Called once. */
  readonly finish: (result: CompletedActivation) => void;
}

export interface CompletedActivation extends ActivationResponse {
  /**
   * ms from `invoke` to the first byte to the container (init, else run), container start included.
   */
  readonly waitMs: number;
  readonly initMs: number;
  readonly runMs: number;
  readonly containerName: string | null;
  readonly cold: boolean;
  /**
   * From the beginning of the container's creation to the answer of `/init`, ms; null where the
   * container was there already.
   */
  readonly coldStartMs: number | null;
}

type Ids = Pick<ActivationMessage, 'activationId' | 'transactionId'>;

/**
 * Body of `/init`: fields of ExecutableWhiskAction.containerInitializer (WhiskAction.scala @ 1.0.0,
 * 2.0.0, 1fae641a2) with the environment of ContainerProxy.initializeAndRun, in the order recorded
 * (the hash order of Scala's maps).
 */
export function initBody(
  action: ResolvedAction,
  { activationId, transactionId }: Ids,
  deadlineMs: number,
): string {
  const env = {
    __OW_DEADLINE: String(deadlineMs),
    __OW_ACTION_NAME: `/${action.namespace}/${action.name}`,
    __OW_ACTION_VERSION: action.version,
    __OW_ACTIVATION_ID: activationId,
    __OW_NAMESPACE: action.namespace,
    __OW_TRANSACTION_ID: transactionId,
  };
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
  { activationId, transactionId }: Ids,
  deadlineMs: number,
  payload: unknown,
): string {
  return JSON.stringify({
    action_name: `/${action.namespace}/${action.name}`,
    action_version: action.version,
    activation_id: activationId,
    deadline: String(deadlineMs),
    namespace: action.namespace,
    transaction_id: transactionId,
    value: payload,
  });
}
