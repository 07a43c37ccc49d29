import {
  type Bytes,
  type Micros,
  type Millicores,
  type Millis,
  micros,
} from '../../config/index.js';
import { Allocation } from './allocation.js';
import type { FunctionState } from './function-state.js';
import { Grant } from './grant.js';
import { NO_LIMIT, type UserLimits } from './limits.js';
import type { CpuMode, HostCapacity } from './settings.js';
import { copySample, emptySample, type UsageSample } from './usage-sample.js';
import { MIN_SHARES } from './weights.js';

const NO_SAMPLE = emptySample();

/**
 * What belongs to a container and not to one activation. `reset` begins another container: a
 * simulator starts hundreds of thousands.
 */
export class ContainerState {
  user: UserLimits;
  /** The user's CPU: configuration, else quota, else what the shares guarantee on a full host. */
  userCpu: Millicores;
  mode: CpuMode;
  /** The function it serves; null until its first `/run`. */
  fn: FunctionState | null = null;
  /** Activations in flight, oldest first. */
  readonly runs: Run[] = [];
  /** More than one activation was in it at once: no memory loans any more. */
  concurrent = false;
  /** Held of the host's CPU and (policy `faasrm`) memory while activations run. */
  readonly cpu = new Allocation<ContainerState>(this);
  readonly memory = new Allocation<ContainerState>(this);
  /** Memory above the user's limit, lent for the container's life (policy `guarantee`). */
  memoryLoan: Bytes = 0 as Bytes;
  /** What of it the host's headroom counts. */
  chargedLoan: Bytes = 0 as Bytes;
  /** Weight in force: belongs to the container, may stay after the activation. */
  shares: number;
  /** Place among those that the host's sums count, -1 = none; its weights as they count them. */
  countedAt = -1;
  countedOwn = 0;
  countedShares = 0;
  /** The user's shares while they are counted, otherwise 0. */
  countedSize = 0;
  /** End of the cold-start boost on the monotonic clock, ms; 0 = none. */
  boostUntil = 0;
  /** The newest reading of its counters; valid once `read`. */
  readonly last: UsageSample = emptySample();
  read = false;

  constructor(user: UserLimits, capacity: HostCapacity) {
    this.user = user;
    this.shares = user.shares;
    this.userCpu = userCpu(user, Number.NaN, capacity);
    this.mode = user.quota > NO_LIMIT ? 'quota' : 'weight';
  }

  reset(user: UserLimits, capacity: HostCapacity): void {
    this.user = user;
    this.shares = user.shares;
    this.userCpu = userCpu(user, Number.NaN, capacity);
    this.mode = user.quota > NO_LIMIT ? 'quota' : 'weight';
    this.fn = null;
    this.runs.length = 0;
    this.concurrent = false;
    this.cpu.reset();
    this.memory.reset();
    this.memoryLoan = 0 as Bytes;
    this.chargedLoan = 0 as Bytes;
    this.countedAt = -1;
    this.countedOwn = 0;
    this.countedShares = 0;
    this.countedSize = 0;
    this.boostUntil = 0;
    copySample(NO_SAMPLE, this.last);
    this.read = false;
  }

  /** At its first `/run`; configuration may give that function a quota. */
  assignFunction(fn: FunctionState, capacity: HostCapacity): void {
    this.fn = fn;
    this.userCpu = userCpu(this.user, fn.configuredCpu, capacity);
    this.mode = this.user.quota > NO_LIMIT || fn.configuredCpu > 0 ? 'quota' : 'weight';
  }

  get running(): number {
    return this.runs.length;
  }

  /** The quota that stands when nothing is decided; {@link NO_LIMIT} in weight mode. */
  get userQuota(): Millicores {
    return this.user.quota > NO_LIMIT ? this.user.quota : (NO_LIMIT as Millicores);
  }
}

function userCpu(user: UserLimits, configured: number, capacity: HostCapacity): Millicores {
  if (configured > 0 && Number.isFinite(configured)) return configured as Millicores;
  if (user.quota > NO_LIMIT) return user.quota;
  if (user.sharesAreRequest === true) {
    // Without a request nothing is guaranteed and nothing forbidden: one core, as most actions use.
    const requested = user.shares > MIN_SHARES ? (user.shares / 1024) * 1000 : 1000;
    return Math.min(capacity.cpu, requested) as Millicores;
  }
  return Math.min(capacity.cpu, (capacity.cpu * user.shares) / 1024) as Millicores;
}

/**
 * One activation: the controller sets inputs, the decider fills outputs: `shares`, `quota`
 * ({@link NO_LIMIT} = none), `memoryLimit`. Reused; `reset` begins a new activation.
 */
export class Run {
  fn: FunctionState;
  container: ContainerState;
  /** The agent's target; NaN = none, stale or refused. */
  targetCpu: Millicores = Number.NaN as Millicores;
  targetMemory: Bytes = Number.NaN as Bytes;
  /** Size of the request's body, bytes; -1 = unknown. */
  payload: Bytes = -1 as Bytes;
  /** Expected CPU time by the size of the body, ms; NaN: only the function's mean is known. */
  expectedCpu = Number.NaN;
  /** False (modes observe and recommend): nothing is taken from pools and nothing counts. */
  enforced = true;
  /**
   * Of an enforced function, but seen too late for a quota or a memory limit (`enforced` is false):
   * it has its user's, and the weight of control activations.
   */
  late = false;
  /** The rest of a run that was counted: its user limits changed while it ran. */
  isRest = false;

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
  /** What the idle container has used between the last answer and this start, us. */
  lateCpu: Micros = micros(0);
  /** Most activations that were in the container at once during this run. */
  concurrency = 1;

  trippedCpu = false;
  trippedMemory = false;
  limitHits = 0;
  /** CPU-ms that a lowered quota kept free, and CPU-ms used above the user's limit. */
  harvested = 0;
  accelerated = 0;
  /** MiB-ms below the user's memory limit (policy `faasrm`). */
  harvestedMemory = 0;
  /** Estimate: ms this run would have taken longer at user limits. */
  saved = 0;

  /** Where the CPU window being measured began: monotonic ms, and counter in us (-1 = unknown). */
  windowAt: Millis = 0 as Millis;
  windowCpu = -1;
  /** Highest working set seen, bytes; -1 = none. `memory.peak` may count page cache too. */
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
    this.late = false;
    this.isRest = false;
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
    this.lateCpu = micros(0);
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
