import { LRUCache } from 'lru-cache';
import { type Bytes, Doubles, type Millicores, type Millis } from '../../config/index.js';
import { type ControlArm, ControlStatistics, DurationStatistics } from './arm-statistics.js';
import { sharesFollowMemory, type UserLimits } from './limits.js';
import { PayloadEstimate } from './payload-estimate.js';
import type { MemoryPolicy } from './settings.js';
import { DecayingHistogram, DecayingMean, DecayingPeak } from './statistics.js';

/**
 * A deprioritized function keeps at least this share of its weight until its control arm shows that
 * a lower one does not slow it down; 8 times as much in the wide range. Why:
 * docs/decisions/0002-weight-floor-until-measured.md, 0014-range-and-reference.md.
 */
export const UNPROVEN_MIN_FACTOR = 1 / 8;

const DOUBLES =
  4 * DecayingPeak.SIZE +
  2 * DecayingMean.SIZE +
  2 * DurationStatistics.SIZE +
  DecayingHistogram.SIZE;

/** The control arm of a function that has had no such activation, as most on a host. */
const NO_CONTROL: ControlArm = new ControlStatistics();

/** History of one function (action, version, user limits) on this host. */
export class FunctionState {
  readonly action: string;
  readonly version: string;
  readonly userMemory: Bytes;
  readonly userQuota: Millicores;
  readonly userShares: number;
  readonly sharesFollowMemory: boolean;

  /** From the function's annotation or the configuration; NaN = none. Set by the hook. */
  configuredCpu: number = Number.NaN;
  /** Objective for init + run, ms; NaN = from the control arm. */
  configuredSlo: number = Number.NaN;
  /**
   * User's own size / the size that Gleaner gave the action: OpenWhisk's shares follow memory, and
   * the function keeps the CPU that its user's size has. Set by the hook.
   */
  rightSizeFactor = 1;
  memoryPolicy: MemoryPolicy;
  /** Most activations in one container at once; 1 until they are proven. Set by the hook. */
  concurrency = 1;
  /** False: this function never enters a control arm. */
  controlArm = true;

  readonly cpuPeak: DecayingPeak;
  readonly memoryPeak: DecayingPeak;
  /** Peak of the working set, without the page cache that the kernel's own peak counts. */
  readonly workingPeak: DecayingPeak;
  /** Peaks and grants of the newest clean run, for the published rules; NaN = none. */
  lastCpuPeak = Number.NaN;
  lastMemoryPeak = Number.NaN;
  lastCpuGrant = Number.NaN;
  lastMemoryGrant = Number.NaN;
  /** CPU-milliseconds of a run. */
  readonly cpuTime: DecayingHistogram;
  readonly expectedCpu: DecayingMean;
  /** CPU time by the size of the body, where that says more than the mean. */
  readonly cpuByPayload = new PayloadEstimate();
  /** What the host's reference has counted of it; NaN = nothing. */
  loggedCpu = Number.NaN;
  loggedWeight = 0;
  loggedEpoch = 0;
  p95CpuTime = Number.NaN;
  readonly duration: DecayingMean;
  #control: ControlStatistics | null = null;
  readonly managed: DurationStatistics;
  /** Fastest growth of the working set, bytes/ms. */
  readonly growth: DecayingPeak;

  lastFailed = false;
  /** The last run tripped or came close to a lowered limit: the next one runs at user limits. */
  cpuSpiked = false;
  memorySpiked = false;
  /** Runs at user limits still to come after an OOM kill by a lowered limit. */
  oomHold = 0;
  /** OOM kills at a lowered limit, and at the user's own. */
  oomHarvest = 0;
  oomUser = 0;
  /** Working set or kills at the user's own limit: qualifies for a loan. */
  hitUserLimit = false;
  /** Memory the OOM kills have asked for; 0 = none. Kills at one limit never add up. */
  memoryAfterOom: Bytes = 0 as Bytes;

  /** Exponent of the weight policies now, where it lowers a weight. */
  alpha: number;

  minWeightFactor = UNPROVEN_MIN_FACTOR;
  /** Durations of managed runs since `alpha` or `minWeightFactor` last changed. */
  readonly sinceAlpha: DurationStatistics;
  /**
   * Weight over the neutral weight, geometric mean of the newest managed runs that started beside
   * others. Beside a quota: the newest run's weight over its own.
   */
  weightFactor = 1;

  /** Runs started, clean ends, failures, safeguard runs, mid-run trips, control runs. */
  started = 0;
  clean = 0;
  failed = 0;
  safeguarded = 0;
  tripped = 0;
  controlled = 0;
  lastStart: Millis = 0 as Millis;

  constructor(
    action: string,
    version: string,
    user: UserLimits,
    memoryPolicy: MemoryPolicy,
    alpha: number,
  ) {
    this.action = action;
    this.version = version;
    this.userMemory = user.memory;
    this.userQuota = user.quota;
    this.userShares = user.shares;
    this.sharesFollowMemory = sharesFollowMemory(user);
    this.memoryPolicy = memoryPolicy;
    this.alpha = alpha;
    const doubles = new Doubles(DOUBLES);
    this.cpuPeak = new DecayingPeak(doubles);
    this.memoryPeak = new DecayingPeak(doubles);
    this.workingPeak = new DecayingPeak(doubles);
    this.cpuTime = new DecayingHistogram(doubles);
    this.expectedCpu = new DecayingMean(doubles);
    this.duration = new DecayingMean(doubles);
    this.managed = new DurationStatistics(doubles);
    this.growth = new DecayingPeak(doubles);
    this.sinceAlpha = new DurationStatistics(doubles);
  }

  get control(): ControlArm {
    return this.#control ?? NO_CONTROL;
  }

  /** An activation of the control arm has ended. `duration` in ms. */
  addControl(duration: number, now: number, halfLife: number, cold = false): void {
    this.#control ??= new ControlStatistics();
    this.#control.add(duration, now, halfLife, cold);
  }

  /** Its containers may be lent memory above their limit. */
  get mayBorrow(): boolean {
    return this.hitUserLimit || this.rightSizeFactor > 1;
  }
}

/** The functions this host knows: bounded, and at most two versions of an action. */
export class FunctionTable {
  readonly #versions: LRUCache<string, FunctionState[]>;
  readonly #forgotten: (fn: FunctionState) => void;

  constructor(maxActions: number, forgotten: (fn: FunctionState) => void) {
    this.#forgotten = forgotten;
    this.#versions = new LRUCache({
      // Not `max`: its arrays would be as long from the start, on each of many simulated hosts.
      maxSize: maxActions,
      sizeCalculation: () => 1,
      dispose: (states, _action, reason) => {
        if (reason !== 'set') for (const fn of states) forgotten(fn);
      },
    });
  }

  get(action: string, version: string, user: UserLimits): FunctionState | undefined {
    const states = this.#versions.get(action);
    if (states === undefined) return undefined;
    for (let i = 0; i < states.length; i++) {
      const fn = states[i] as FunctionState;
      if (fn.version === version && fn.userMemory === user.memory && fn.userQuota === user.quota)
        return fn;
    }
    return undefined;
  }

  put(fn: FunctionState): void {
    const states = this.#versions.get(fn.action);
    if (states === undefined) {
      this.#versions.set(fn.action, [fn]);
      return;
    }
    states.unshift(fn);
    const old = states.length > 2 ? states.pop() : undefined;
    if (old) this.#forgotten(old);
  }

  /** As if a container of this action had started. */
  touch(action: string): void {
    this.#versions.get(action);
  }

  /** The versions of an action, without touching its age. */
  versions(action: string): readonly FunctionState[] {
    return this.#versions.peek(action) ?? [];
  }

  /** Newest version of an action, without touching its age; undefined = unknown. */
  newest(action: string): FunctionState | undefined {
    return this.#versions.peek(action)?.[0];
  }

  *all(): IterableIterator<FunctionState> {
    for (const states of this.#versions.values()) yield* states;
  }

  get size(): number {
    return this.#versions.size;
  }
}
