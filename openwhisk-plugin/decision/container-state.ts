import type { Bytes, Millicores } from '../../config/index.js';
import { Allocation } from './allocation.js';
import type { FunctionState } from './function-state.js';
import { NO_LIMIT, type UserLimits } from './limits.js';
import type { Run } from './run.js';
import type { CpuMode, HostCapacity } from './settings.js';
import { emptySample, type UsageSample } from './usage-sample.js';

/**
 * What belongs to a container and not to one activation: its user limits, the activations in it,
 * its place in the pools and its memory loan. One object a container, made when it starts.
 */
export class ContainerState {
  readonly user: UserLimits;
  /**
   * CPU the user has a right to: configuration, else quota, else what the shares guarantee on a
   * full host (design §3).
   */
  userCpu: Millicores;
  mode: CpuMode;
  /** The function it serves; null until its first `/run`. */
  fn: FunctionState | null = null;
  /** Activations in flight, oldest first. */
  readonly runs: Run[] = [];
  /** More than one activation was in it at once: no memory loans any more. */
  concurrent = false;
  /**
   * What the container holds of the host's CPU and (policy `faasrm`) memory while activations run.
   */
  readonly cpu = new Allocation(this);
  readonly memory = new Allocation(this);
  /** Memory above the user's limit, lent for the container's life (policy `guarantee`). */
  memoryLoan: Bytes = 0 as Bytes;
  /** Weight in force: belongs to the container, may stay after the activation. */
  shares: number;
  /** End of the cold-start boost on the monotonic clock, ms; 0 = none. */
  boostUntil = 0;
  /** The newest reading of its counters, so that what happens between two samples is not missed. */
  readonly last: UsageSample = emptySample();
  /** `last` has been read. */
  read = false;

  constructor(user: UserLimits, capacity: HostCapacity) {
    this.user = user;
    this.shares = user.shares;
    this.userCpu = userCpu(user, Number.NaN, capacity);
    this.mode = user.quota > NO_LIMIT ? 'quota' : 'weight';
  }

  /**
   * A container learns its function at its first `/run`; configuration may give that function a
   * quota.
   */
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

/**
 * The user's CPU: `configured` (annotation or configuration, NaN = none), else the quota, else the
 * guarantee of the shares.
 */
export function userCpu(user: UserLimits, configured: number, capacity: HostCapacity): Millicores {
  if (configured > 0 && Number.isFinite(configured)) return configured as Millicores;
  if (user.quota > NO_LIMIT) return user.quota;
  return Math.min(capacity.cpu, (capacity.cpu * user.shares) / 1024) as Millicores;
}
