import { MIB, type Random, SeededRandom } from '../../config/index.js';
import { normalQuantile, probabilities, quantile } from './distribution.js';
import { type Arrivals, arrivalSpanMs, type Compression, type Workload, type WorkloadFunction } from './workload.js';

/**
 * Every call of a workload with its demand, drawn before anything runs: so no manager, no placement and no other function changes
 * what a call needs, and runs can be compared call by call. Columns, ordered by arrival.
 */
export interface Plan {
  readonly workload: Workload;
  readonly count: number;
  /** Length of the workload, us of played time: where a repetition begins. */
  readonly spanMicros: number;
  /** Index into `workload.functions`. */
  readonly fn: Uint16Array;
  /** Integer us from the start of the workload. */
  readonly arrival: Float64Array;
  /** Core-us. */
  readonly cpu: Float64Array;
  /** Integer us without a core. */
  readonly io: Float64Array;
  /** Highest working set, bytes. */
  readonly peak: Float64Array;
  /** Size of the payload, 1 = the function's median. */
  readonly payload: Float64Array;
}

/**
 * Draws the calls. Random streams are apart (arrivals, demand, payload, one of each per function, by name), so a function added
 * or removed changes no other.
 */
export function planWorkload(workload: Workload, seed = workload.seed): Plan {
  const root = new SeededRandom(seed);
  const stratified = workload.draws === 'stratified';
  const calls: { at: number; fn: number; order: number; cpu: number; io: number; peak: number; payload: number }[] = [];
  let spanMs = 0;
  workload.functions.forEach((fn, index) => {
    const random = root.fork(fn.name);
    const times = drawArrivals(fn.arrivals, random.fork('arrivals'));
    spanMs = Math.max(spanMs, arrivalSpanMs(fn.arrivals));
    const cpuAt = probabilities(times.length, stratified, random.fork('cpu'));
    const ioAt = probabilities(times.length, stratified, random.fork('io'));
    const peakAt = probabilities(times.length, stratified, random.fork('memory'));
    const payloadAt = probabilities(times.length, stratified, random.fork('payload'));
    times.forEach((ms, order) => {
      const payload = Math.exp(fn.profile.payload.sigma * normalQuantile(payloadAt[order]!));
      const cpuMs = quantile(fn.profile.cpuMs, cpuAt[order]!) * payload ** fn.profile.payload.cpu;
      // A call that waits longer also computes longer: both come from the same recorded duration, so from the same draw.
      const ioMs = quantile(fn.profile.ioMs, sameShape(fn) ? cpuAt[order]! : ioAt[order]!);
      const shrink = compressionOf(soloMs(fn, cpuMs, ioMs), workload.compression);
      const base = fn.profile.memory.baseMiB;
      const above = Math.max(0, quantile(fn.profile.memory.peakMiB, peakAt[order]!) - base);
      calls.push({
        at: Math.round((ms * 1000) / workload.compression.time),
        fn: index,
        order,
        cpu: cpuMs * 1000 * shrink,
        io: Math.round(ioMs * 1000 * shrink),
        peak: Math.round((base + above * payload ** fn.profile.payload.memory) * MIB),
        payload,
      });
    });
  });
  calls.sort((a, b) => a.at - b.at || a.fn - b.fn || a.order - b.order);
  return {
    workload,
    count: calls.length,
    spanMicros: Math.ceil((spanMs * 1000) / workload.compression.time),
    fn: Uint16Array.from(calls, (call) => call.fn),
    arrival: Float64Array.from(calls, (call) => call.at),
    cpu: Float64Array.from(calls, (call) => call.cpu),
    io: Float64Array.from(calls, (call) => call.io),
    peak: Float64Array.from(calls, (call) => call.peak),
    payload: Float64Array.from(calls, (call) => call.payload),
  };
}

/** Duration of a call alone on its host at the user's CPU, ms; by a fluid quota, as a trace's durations are known no finer. */
export function soloMs(fn: WorkloadFunction, cpuMs: number, ioMs: number): number {
  const user = fn.userCpuMillicores === null ? fn.profile.parallelism : fn.userCpuMillicores / 1000;
  return cpuMs / Math.min(fn.profile.parallelism, user) + ioMs;
}

/** What a duration is multiplied by. */
export function compressionOf(durationMs: number, compression: Compression): number {
  if (durationMs <= compression.aboveMs) return 1;
  return Math.min(1, Math.max(durationMs / compression.duration, compression.floorMs) / durationMs);
}

/**
 * CPU work asked for, as a share of the host's cores, over the span of the arrivals: the offered load (state it with every figure).
 * Cold starts come on top.
 */
export function offeredLoad(plan: Plan, cores = plan.workload.host.cores): number {
  let work = 0;
  for (let i = 0; i < plan.count; i++) work += plan.cpu[i]!;
  return work / (plan.spanMicros * cores);
}

/** Whether waits follow the CPU work: both come from one recorded duration. */
export function sameShape(fn: WorkloadFunction): boolean {
  const { cpuMs, ioMs } = fn.profile;
  return typeof cpuMs === 'object' && typeof ioMs === 'object' && 'quantiles' in cpuMs && 'quantiles' in ioMs;
}

/** Times of calls, ms of recorded time. */
function drawArrivals(arrivals: Arrivals, random: Random): number[] {
  if ('atMs' in arrivals) return [...arrivals.atMs];
  const times: number[] = [];
  if ('ratePerSecond' in arrivals) {
    const end = arrivals.seconds * 1000;
    const mean = 1000 / arrivals.ratePerSecond;
    const even = arrivals.within === 'even';
    let at = even ? mean / 2 : gap(mean, random);
    while (at < end) {
      times.push(at);
      at += even ? mean : gap(mean, random);
    }
    return times;
  }
  arrivals.perMinute.forEach((mean, slice) => {
    const count = arrivals.within === 'poisson' ? poisson(mean, random) : mean;
    for (let i = 0; i < count; i++) {
      const share = arrivals.within === 'even' ? (i + 0.5) / count : random.next();
      times.push((slice + share) * arrivals.sliceMs);
    }
  });
  return times;
}

/** Counted by the gaps: exact, and fast enough for a minute's calls. */
function poisson(mean: number, random: Random): number {
  let count = -1;
  let sum = 0;
  while (sum < mean) {
    sum += gap(1, random);
    count++;
  }
  return Math.max(0, count);
}

/** Exponential with the given mean. */
function gap(mean: number, random: Random): number {
  return -mean * Math.log1p(-random.next());
}
