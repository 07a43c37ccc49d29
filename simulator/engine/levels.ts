import type { Series } from './summary.js';

/** State of the cluster over time: core use as a mean over each bucket, the rest at its end. */
export class Levels {
  declare readonly bucketMicros: number;
  declare private readonly span: number;
  declare private readonly coreTime: Float64Array;
  declare private readonly harvested: Float64Array;
  declare private readonly borrowed: Float64Array;
  declare private readonly demand: Float64Array;
  declare private readonly waiting: Float64Array;
  declare private readonly running: Float64Array;
  declare private readonly containers: Float64Array;

  /** The bucket that use was counted in last: its index, and its first us and the one behind it. */
  #bucket = 0;
  #bucketStart = 0;
  #bucketEnd = 0;

  constructor(spanMicros: number, buckets: number) {
    this.span = spanMicros;
    this.bucketMicros = Math.max(1, Math.ceil(spanMicros / buckets));
    this.coreTime = new Float64Array(buckets);
    this.harvested = new Float64Array(buckets);
    this.borrowed = new Float64Array(buckets);
    this.demand = new Float64Array(buckets);
    this.waiting = new Float64Array(buckets);
    this.running = new Float64Array(buckets);
    this.containers = new Float64Array(buckets);
  }

  get buckets(): number {
    return this.coreTime.length;
  }

  /** Spread evenly between the two instants; use after the last arrival does not count. */
  used(from: number, to: number, cpu: number): void {
    // Nearly always the bucket of the time before: no division.
    if (from < this.#bucketStart || from >= this.#bucketEnd) this.#enter(from);
    if (to <= this.#bucketEnd) {
      const bucket = this.#bucket;
      if (bucket < this.coreTime.length) this.coreTime[bucket] = this.coreTime[bucket]! + cpu;
      return;
    }
    this.#spread(from, to, cpu);
  }

  #enter(from: number): void {
    const width = this.bucketMicros;
    this.#bucket = Math.floor(from / width);
    this.#bucketStart = this.#bucket * width;
    this.#bucketEnd = this.#bucketStart + width;
  }

  #spread(from: number, to: number, cpu: number): void {
    const width = this.bucketMicros;
    let bucket = this.#bucket;
    const last = this.coreTime.length - 1;
    const rate = cpu / (to - from);
    for (let at = from; at < to && bucket <= last; bucket++) {
      const end = Math.min(to, (bucket + 1) * width);
      this.coreTime[bucket] = this.coreTime[bucket]! + rate * (end - at);
      at = end;
    }
  }

  /** At the end of a bucket. Millicores, and pieces. */
  sample(
    bucket: number,
    level: {
      harvested: number;
      borrowed: number;
      demand: number;
      waiting: number;
      running: number;
      containers: number;
    },
  ): void {
    this.harvested[bucket] = level.harvested / 1000;
    this.borrowed[bucket] = level.borrowed / 1000;
    this.demand[bucket] = level.demand / 1000;
    this.waiting[bucket] = level.waiting;
    this.running[bucket] = level.running;
    this.containers[bucket] = level.containers;
  }

  /** Core-us used within the span of the arrivals. */
  get total(): number {
    let sum = 0;
    for (const used of this.coreTime) sum += used;
    return sum;
  }

  summary(cores: number): Series {
    const width = this.bucketMicros;
    return {
      bucketMs: width / 1000,
      utilization: Array.from(this.coreTime, (used, i) => {
        const length = Math.min(width, this.span - i * width);
        return length > 0 ? round(used / (length * cores)) : 0;
      }),
      harvested: Array.from(this.harvested, round),
      borrowed: Array.from(this.borrowed, round),
      demand: Array.from(this.demand, round),
      waiting: [...this.waiting],
      running: [...this.running],
      containers: [...this.containers],
    };
  }
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
