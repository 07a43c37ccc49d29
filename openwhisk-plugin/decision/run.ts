import {
  type Bytes,
  type Micros,
  type Millicores,
  type Millis,
  micros,
} from '../../config/index.js';
import type { ContainerState } from './container-state.js';
import type { FunctionState } from './function-state.js';

/** Why a range is what it is. */
export type RangeReason =
  /** No clean run has been seen yet. */
  | 'first_call'
  /** Its runs are too short for a peak to be measured. */
  | 'no_peak'
  /** The last run failed. */
  | 'failure'
  /** The last run came close to a lowered limit: measured anew at user limits. */
  | 'spike'
  | 'over_provisioned'
  | 'under_provisioned'
  /** Control arm: user limits whatever anyone says. */
  | 'control'
  /** A lowered limit has killed it not long ago. */
  | 'after_oom'
  /** It grows faster than a limit could be raised again (field-notes A2-28). */
  | 'grows_too_fast'
  /**
   * Memory policy `guarantee`: never below the user's limit; above it only by a loan for the
   * container's life.
   */
  | 'guarantee'
  /** No quota to manage: the weight is all there is. */
  | 'weight'
  /** The container has no such limit. */
  | 'unlimited';

/** Why the granted amount is what it is. */
export type ChoiceReason =
  /** The range left no choice. */
  | 'user'
  /** What the policy wanted. */
  | 'chosen'
  /** The policy wanted what the range does not allow. */
  | 'clipped'
  /** The pool had less. */
  | 'pool'
  /** No target, a stale one or one that is not a positive finite number. */
  | 'no_target'
  /** Raised so that a quota never cuts a short activation. */
  | 'short_run'
  /** Several activations in the container: it falls in steps. */
  | 'step'
  /** The mid-run safeguard gave the user's limit back. */
  | 'restored'
  /** A loan was taken back by its lender. */
  | 'revoked'
  /**
   * The pool had less at the start; what others gave back meanwhile was lent to it while it ran.
   */
  | 'lent_later'
  /** A loan of memory for the container's life. */
  | 'loan';

/** One resource of one activation: what was wanted, allowed and granted. Millicores or bytes. */
export class Grant {
  user = 0;
  demand = 0;
  lower = 0;
  upper = 0;
  granted = 0;
  borrowed = 0;
  reason: RangeReason = 'first_call';
  choice: ChoiceReason = 'user';
  /**
   * Highest use seen in a window that counts, at least what a throttled period proves; -1 = none.
   */
  peak = -1;

  reset(user: number): void {
    this.user = user;
    this.demand = user;
    this.lower = user;
    this.upper = user;
    this.granted = user;
    this.borrowed = 0;
    this.reason = 'first_call';
    this.choice = 'user';
    this.peak = -1;
  }

  get reduced(): boolean {
    return this.granted < this.user;
  }
}

/**
 * One activation: inputs set by the hook, outputs filled by the decider. Reused; `reset` begins a
 * new activation. What the hook has to bring into force: `shares`, `quota` ({@link NO_LIMIT} =
 * none), `memoryLimit`.
 */
export class Run {
  fn: FunctionState;
  container: ContainerState;
  /**
   * The agent's target; NaN = none, stale or refused. In weight mode cpu / user cpu, clamped to
   * 1/2..2, multiplies the weight.
   */
  targetCpu: Millicores = Number.NaN as Millicores;
  targetMemory: Bytes = Number.NaN as Bytes;
  /** Size of the call's body, as its head says; -1 = unknown. */
  payload: Bytes = -1 as Bytes;
  /**
   * CPU time to be expected of this very call, ms, by the size of its body; NaN: the function's own
   * mean is all that is known. Set by the decider.
   */
  expectedCpu = Number.NaN;
  /**
   * False (modes observe and recommend): the decision is filled, but nothing is taken from pools
   * and nothing counts.
   */
  enforced = true;

  readonly cpu = new Grant();
  readonly memory = new Grant();
  shares = 1024;
  quota: Millicores = 0 as Millicores;
  memoryLimit: Bytes = 0 as Bytes;
  /** The lowest CPU limit since the last reading, millicores. */
  minCpuLimit = 0;
  control = false;
  /** The first activation of its container. Set by the hook before the run ends. */
  cold = false;

  startedAt: Millis = 0 as Millis;
  /** CPU counter of the container at start and end, us; -1 = unknown. Set by the hook. */
  startCpu: Micros = micros(-1);
  endCpu: Micros = micros(-1);
  /** Most activations that were in the container at once during this run. */
  concurrency = 1;

  trippedCpu = false;
  trippedMemory = false;
  limitHits = 0;
  /**
   * CPU-ms below the user's limit that a quota in force kept free, and CPU-ms used above the user's
   * limit.
   */
  harvested = 0;
  accelerated = 0;
  /** MiB-ms below the user's memory limit (policy `faasrm`). */
  harvestedMemory = 0;
  /** Estimate: ms this run would have taken longer at user limits. */
  saved = 0;

  /** Where the CPU window being measured began: monotonic ms, and counter in us (-1 = unknown). */
  windowAt: Millis = 0 as Millis;
  windowCpu = -1;
  /**
   * Highest working set seen, bytes; -1 = none. `memory.peak` may count page cache too (the
   * kernel's own peak does).
   */
  workingPeak = -1;
  /** Fastest growth of the working set between two samples, bytes/ms. */
  growth = 0;
  /** Until when harvested CPU has been counted. */
  countedTo: Millis = 0 as Millis;

  constructor(fn: FunctionState, container: ContainerState) {
    this.fn = fn;
    this.container = container;
    this.reset(fn, container);
  }

  reset(fn: FunctionState, container: ContainerState): void {
    this.fn = fn;
    this.container = container;
    this.targetCpu = Number.NaN as Millicores;
    this.targetMemory = Number.NaN as Bytes;
    this.payload = -1 as Bytes;
    this.expectedCpu = Number.NaN;
    this.enforced = true;
    this.cpu.reset(container.userCpu);
    this.memory.reset(container.user.memory);
    this.shares = container.user.shares;
    this.quota = container.userQuota;
    this.memoryLimit = container.user.memory;
    this.minCpuLimit = container.userCpu;
    this.control = false;
    this.cold = false;
    this.startedAt = 0 as Millis;
    this.startCpu = micros(-1);
    this.endCpu = micros(-1);
    this.concurrency = 1;
    this.trippedCpu = false;
    this.trippedMemory = false;
    this.limitHits = 0;
    this.harvested = 0;
    this.accelerated = 0;
    this.harvestedMemory = 0;
    this.saved = 0;
    this.windowAt = 0 as Millis;
    this.windowCpu = -1;
    this.workingPeak = -1;
    this.growth = 0;
    this.countedTo = 0 as Millis;
  }
}
