import { MIB } from '../../config/index.js';
import { timeUnderQuota } from '../host/cpu.js';
import { sharesOf } from '../host/placement.js';
import type { CalledFunction } from '../workload/call-stream.js';
import { PERIOD_MICROS } from './bucket.js';
import type { ClusterMode } from './options.js';

/** What the engine needs of each function, as columns: its user's limits, OpenWhisk's settings and its profile. */
export class FunctionColumns {
  readonly specs: readonly CalledFunction[];
  /** MiB, nominal. */
  readonly memory: Float64Array;
  /** Bytes: hard limit of a new container. */
  readonly limit: Float64Array;
  /** cgroup-v1 weight, and quota in core-us a period (0 = none), of a new container. */
  readonly weight: Float64Array;
  readonly quota: Float64Array;
  /** The user's own quota, whatever was changed since. */
  readonly userQuota: Float64Array;
  readonly timeout: Float64Array;
  readonly concurrency: Int32Array;
  readonly parallelism: Float64Array;
  /** Core-us of `/init`, and us to make a container. */
  readonly init: Float64Array;
  readonly cold: Float64Array;
  /** Bytes; shares. */
  readonly base: Float64Array;
  readonly growth: Float64Array;
  readonly retained: Float64Array;

  constructor(specs: readonly CalledFunction[], mode: ClusterMode, userMemoryMiB: number) {
    const column = (of: (spec: CalledFunction) => number): Float64Array => Float64Array.from(specs, of);
    this.specs = specs;
    this.memory = column((f) => f.memoryMiB);
    this.limit = column((f) => f.memoryMiB * MIB);
    this.weight = column((f) => sharesOf(f.memoryMiB, userMemoryMiB * MIB));
    this.quota = column((f) => (mode === 'weight' ? 0 : quotaOf(f.userCpuMillicores)));
    this.userQuota = this.quota.slice();
    this.timeout = column((f) => f.timeoutMs * 1000);
    this.concurrency = Int32Array.from(specs, (f) => f.concurrency ?? 1);
    this.parallelism = column((f) => f.profile.parallelism);
    this.init = column((f) => f.profile.initMs * 1000);
    this.cold = column((f) => Math.round(f.profile.coldStartMs * 1000));
    this.base = column((f) => f.profile.memory.baseMiB * MIB);
    this.growth = column((f) => f.profile.memory.growth);
    this.retained = column((f) => f.profile.memory.retained);
  }

  get count(): number {
    return this.specs.length;
  }

  /** A quota that can bind at all, or 0: `/init` keeps one core busy, a run its parallelism. */
  binding(fn: number, quota: number): number {
    return quota < Math.max(1, this.parallelism[fn]!) * PERIOD_MICROS ? quota : 0;
  }

  /** Contention-free duration at true demand, us: what no manager can beat. */
  soloMicros(fn: number, cpu: number, io: number): number {
    return cpu / this.parallelism[fn]! + io;
  }

  /** Duration alone at the user's limits, us; the halves before and after the wait begin with a full bucket. */
  userMicros(fn: number, cpu: number, io: number): number {
    const quota = this.userQuota[fn]!;
    const parallelism = this.parallelism[fn]!;
    if (quota === 0 || quota >= parallelism * PERIOD_MICROS) return cpu / parallelism + io;
    if (io === 0) return timeUnderQuota(cpu, parallelism, quota, PERIOD_MICROS);
    return 2 * timeUnderQuota(cpu / 2, parallelism, quota, PERIOD_MICROS) + io;
  }
}

/** Core-us a period. */
export function quotaOf(millicores: number | null): number {
  return millicores === null ? 0 : (millicores * PERIOD_MICROS) / 1000;
}
