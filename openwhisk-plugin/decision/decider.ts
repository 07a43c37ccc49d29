import type { Bytes, Millis, Random } from '../../config/index.js';
import type { ActivationPolicy } from '../policies/activation-policy.js';
import type { UserLimits } from '../ports/limits.js';
import type { UsageSample } from '../ports/usage-monitor.js';
import { ContainerState } from './container-state.js';
import { FunctionState, FunctionTable } from './function-state.js';
import type { Run } from './run.js';
import type { DecisionSettings, HostCapacity } from './settings.js';

/** How an activation ended. `unknown`: nobody saw its end; it teaches nothing. */
export type Outcome = 'success' | 'failure' | 'unknown' | 'oom';

/** What the mid-run safeguard asks for: the user's limit, at once. The run's outputs are set already. */
export type SampleAction = 'none' | 'restore_cpu' | 'restore_memory' | 'restore_both';

/** The policies in use: one for containers with a quota (and for memory), one for those with a weight only. */
export interface Policies {
  readonly quota: ActivationPolicy;
  readonly weight: ActivationPolicy;
}

/**
 * Every decision about activations on one host. Pure: state and `now` in, decision out; no clock, no I/O, no allocation per activation.
 * Times are readings of one monotonic clock, ms.
 */
export class Decider {
  settings: DecisionSettings;
  readonly capacity: HostCapacity;
  policies: Policies;
  readonly functions: FunctionTable;
  readonly #random: Random;

  constructor(settings: DecisionSettings, capacity: HostCapacity, policies: Policies, random: Random) {
    this.settings = settings;
    this.capacity = capacity;
    this.policies = policies;
    this.#random = random;
    this.functions = new FunctionTable(settings.maxFunctions, () => {});
  }

  /** The history of a function, new where it is not known. */
  functionState(action: string, version: string, user: UserLimits, _now: Millis): FunctionState {
    const known = this.functions.get(action, version, user);
    if (known) return known;
    const fn = new FunctionState(action, version, user, this.settings.memoryPolicy, this.settings.alpha);
    this.functions.put(fn);
    return fn;
  }

  /** State of a container that has started, or was found running. */
  container(user: UserLimits): ContainerState {
    return new ContainerState(user, this.capacity);
  }

  /** The container ended: everything it held is free. */
  containerEnded(container: ContainerState, _now: Millis): void {
    container.memoryLoan = 0 as Bytes;
  }

  /** Fills the run's decision and takes from the pools. Inputs: `fn`, `container`, targets, `enforced`. */
  start(run: Run, now: Millis): void {
    run.startedAt = now;
    run.container.running++;
    this.#random.next();
  }

  /** The mid-run safeguard, and the peaks. `usage` is the container's, read about now. */
  sample(_run: Run, _usage: UsageSample, _now: Millis): SampleAction {
    return 'none';
  }

  /**
   * The activation ended (`clean`: by its answer, with nothing lost), or what it was given up (`unknown`).
   * `durationMs` from the kernel's stamps, NaN = unknown. Frees the grant: call it only when the container stops working for it.
   */
  finish(run: Run, _outcome: Outcome, _durationMs: number, _clean: boolean, _now: Millis): void {
    run.container.running--;
  }

  /** An OOM kill, with the limit that was in force. May come late, or without a run. */
  oom(_fn: FunctionState, _limitAtKill: Bytes, _now: Millis): void {}

  /** Cold start: weight and quota until `/init` is answered (design §3). Sets `container.shares` and `boostUntil`; quota: the host's cores. */
  boost(container: ContainerState, now: Millis): void {
    container.boostUntil = now + this.settings.boostTime;
  }

  /** `/init` was answered, or the time is over: `container.shares` are the user's again. */
  boostEnded(container: ContainerState): void {
    container.boostUntil = 0;
  }

  /** Memory to lend above the user's limit for the container's life (policy `guarantee`); 0 = none. Kept in `container.memoryLoan`. */
  memoryLoan(container: ContainerState, _fn: FunctionState, _now: Millis): Bytes {
    return container.memoryLoan;
  }

  /** Containers whose loans were taken back since the last call: write their limits (`container.cpu.granted`). */
  takeRevoked(_visit: (container: ContainerState) => void): void {}

  /** The function's objective for init + run, ms; NaN = not known yet (design §6). */
  slo(fn: FunctionState): number {
    return fn.configuredSlo;
  }
}
