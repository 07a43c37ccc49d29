/**
 * Constants and laws of the published FaaSRM simulator of 2021 [Freyr-sim]. Amounts are whole
 * units: one core, 64 MB. They hold in this folder only; Gleaner models hosts in simulator/engine.
 */
export const RULES = {
  servers: 30,
  serverCpu: 8,
  serverMemory: 32,
  /** Upper bound of an allocation, for either resource. */
  cap: 8,
  memoryUnitMb: 64,
  memoryCapMb: 512,
  /** Seconds after which a cached container is removed. */
  keepAlive: 10,
  /** Step between the servers that are probed. */
  probeStep: 7,
  /** The safeguard's threshold as coded; the paper says 0.8. */
  threshold: 0.9,
  /** CPU counts this much against memory's 1 in the duration law. */
  cpuWeight: 2,
  seconds: 60,
  httpTimeout: 230,
  otherTimeout: 600,
} as const;

/** Events a second of the published simulator: 7 to 9 ms per event, in Python on one thread. */
export const PUBLISHED_EVENTS_PER_SECOND = 120;

/** An amount of both resources, in units. */
export interface Allocation {
  readonly cpu: number;
  readonly memory: number;
}

/**
 * A function as the simulator sees it; `ideal*` and durations are hidden from every manager but
 * ensure.
 */
export interface PublishedFunction {
  readonly index: number;
  readonly user: Allocation;
  /** In units. */
  readonly idealCpu: number;
  /** In MB, where the duration law uses it. */
  readonly idealMb: number;
  /** In units, where peaks are made of it. */
  readonly idealMemory: number;
  /** Ticks. */
  readonly minDuration: number;
  readonly maxDuration: number;
  readonly coldStart: number;
  readonly timeout: number;
}

/**
 * Ticks of work under an allocation: the shortest duration with the ideal amounts, the longest with
 * one unit of each, linear between, CPU counting twice. Added up in the published order: if the
 * exact sum is whole, another order gives another tick by rounding (1 + 4 x 2/3 x 1/2 + 4 x 1/3 x
 * 1/2 is 2.9999999999999996), and that moves the mean of ten functions by 0.004.
 */
export function durationOf(fn: PublishedFunction, { cpu, memory }: Allocation): number {
  const megabytes = memory * RULES.memoryUnitMb;
  const cpuLack = cpu >= fn.idealCpu ? 0 : (fn.idealCpu - cpu) / (fn.idealCpu - 1);
  const memoryLack =
    megabytes >= fn.idealMb ? 0 : (fn.idealMb - megabytes) / (fn.idealMb - RULES.memoryUnitMb);
  const spread = fn.maxDuration - fn.minDuration;
  const forCpu = ((spread * RULES.cpuWeight) / (RULES.cpuWeight + 1)) * cpuLack;
  const forMemory = (spread / (RULES.cpuWeight + 1)) * memoryLack;
  return Math.floor(fn.minDuration + forCpu + forMemory) + 1;
}

/** Use is at most the allocation and at most what the function can use. */
export function peakOf(fn: PublishedFunction, allocation: Allocation): Allocation {
  return {
    cpu: Math.min(allocation.cpu, fn.idealCpu),
    memory: Math.min(allocation.memory, fn.idealMemory),
  };
}
