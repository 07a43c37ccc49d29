import { MIB } from '../../config/index.js';
import { sharesOf } from '../../rules/index.js';
import type { StreamedFunction } from '../workload/index.js';
import { PERIOD_MICROS, quotaOf, timeUnderQuota } from './cfs.js';
import type { ClusterMode } from './options.js';

/** Fields of a function's row. */
export const Fn = {
  /** Nominal, MiB. */
  memory: 0,
  /** Hard limit of a new container, bytes. */
  limit: 1,
  /** cgroup-v1 weight, and quota in core-us a period (0 = none), of a new container. */
  weight: 2,
  quota: 3,
  /** The user's own quota, regardless of later changes. */
  userQuota: 4,
  /** us. */
  timeout: 5,
  concurrency: 6,
  /** Cores. */
  parallelism: 7,
  /** Core-us of `/init`, and us to create a container. */
  init: 8,
  cold: 9,
  /** Bytes; shares. */
  base: 10,
  growth: 11,
  retained: 12,
  /** The balancer's home host and step. */
  home: 13,
  step: 14,
  /** 1: the number of its containers is capped. */
  capped: 15,
} as const;

const WIDTH = 16;

/**
 * What the engine needs of each function: user limits, OpenWhisk's settings, profile. A row fits
 * into two cache lines: with thousands of functions every activation misses the cache.
 */
export class FunctionRows {
  declare readonly specs: readonly StreamedFunction[];
  declare private readonly rows: Float64Array;

  constructor(specs: readonly StreamedFunction[], mode: ClusterMode, userMemoryMiB: number) {
    this.specs = specs;
    this.rows = new Float64Array(WIDTH * specs.length);
    specs.forEach((spec, fn) => {
      const { profile } = spec;
      const quota = mode === 'weight' ? 0 : quotaOf(spec.userCpuMillicores);
      const row: Record<Exclude<keyof typeof Fn, 'home' | 'step'>, number> = {
        memory: spec.memoryMiB,
        limit: spec.memoryMiB * MIB,
        weight: sharesOf(spec.memoryMiB, userMemoryMiB),
        quota,
        userQuota: quota,
        timeout: spec.timeoutMs * 1000,
        concurrency: spec.concurrency ?? 1,
        parallelism: profile.parallelism,
        init: profile.initMs * 1000,
        cold: Math.round(profile.coldStartMs * 1000),
        base: profile.memory.baseMiB * MIB,
        growth: profile.memory.growth,
        retained: profile.memory.retained,
        capped: spec.maxContainers === undefined ? 0 : 1,
      };
      for (const [name, value] of Object.entries(row))
        this.set(fn, Fn[name as keyof typeof Fn], value);
    });
  }

  get count(): number {
    return this.specs.length;
  }

  /** `field`: one of {@link Fn}. */
  get(fn: number, field: number): number {
    return this.rows[WIDTH * fn + field]!;
  }

  set(fn: number, field: number, value: number): void {
    this.rows[WIDTH * fn + field] = value;
  }

  /** A quota that can bind at all, or 0: `/init` keeps one core busy, a run its parallelism. */
  binding(fn: number, quota: number): number {
    return quota < Math.max(1, this.get(fn, Fn.parallelism)) * PERIOD_MICROS ? quota : 0;
  }

  /** Contention-free duration at true demand, us: what no manager can beat. */
  soloMicros(fn: number, cpu: number, io: number): number {
    return cpu / this.get(fn, Fn.parallelism) + io;
  }

  /**
   * Duration alone at the user's limits, us; the halves before and after the wait begin with a full
   * bucket.
   */
  userMicros(fn: number, cpu: number, io: number): number {
    const quota = this.get(fn, Fn.userQuota);
    const parallelism = this.get(fn, Fn.parallelism);
    if (quota === 0 || quota >= parallelism * PERIOD_MICROS) return cpu / parallelism + io;
    if (io === 0) return timeUnderQuota(cpu, parallelism, quota, PERIOD_MICROS);
    return 2 * timeUnderQuota(cpu / 2, parallelism, quota, PERIOD_MICROS) + io;
  }
}
