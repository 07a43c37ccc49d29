import { MIB, SeededRandom } from '../../config/index.js';
import { drawArrivals } from './arrivals.js';
import { normalQuantile, probabilities, quantile } from './distribution.js';
import {
  arrivalSpanMs,
  type Compression,
  type Workload,
  type WorkloadFunction,
} from './workload.js';

/**
 * Every call of a workload with its demand, drawn before anything runs: so no manager, no placement
 * and no other function changes what a call needs, and runs can be compared call by call. Columns,
 * ordered by arrival.
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
  /** Size of the payload, in units of what the profile's numbers are for. */
  readonly payload: Float64Array;
}

/**
 * Draws the calls. Random streams are apart (arrivals, demand, payload, one of each per function,
 * by name), so a function added or removed changes no other.
 */
export function planWorkload(workload: Workload, seed = workload.seed): Plan {
  const root = new SeededRandom(seed);
  const stratified = workload.draws === 'stratified';
  const calls: {
    at: number;
    fn: number;
    order: number;
    cpu: number;
    io: number;
    peak: number;
    payload: number;
  }[] = [];
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
      const size = fn.profile.payload;
      const payload = size.median * Math.exp(size.sigma * normalQuantile(payloadAt[order]!));
      const cpuMs = quantile(fn.profile.cpuMs, cpuAt[order]!) * payload ** size.cpu;
      // A call that waits longer also computes longer: both come from the same recorded duration,
      // so from the same draw.
      const ioMs =
        quantile(fn.profile.ioMs, sameShape(fn) ? cpuAt[order]! : ioAt[order]!) *
        payload ** size.io;
      const shrink = compressionOf(soloMs(fn, cpuMs, ioMs), workload.compression);
      const base = fn.profile.memory.baseMiB;
      const above = Math.max(0, quantile(fn.profile.memory.peakMiB, peakAt[order]!) - base);
      calls.push({
        at: Math.round((ms * 1000) / workload.compression.time),
        fn: index,
        order,
        cpu: cpuMs * 1000 * shrink,
        io: Math.round(ioMs * 1000 * shrink),
        peak: Math.round((base + above * payload ** size.memory) * MIB),
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

/**
 * Duration of a call alone on its host at the user's CPU, ms; by a fluid quota, as a trace's
 * durations are known no finer.
 */
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
 * CPU work asked for, as a share of the host's cores, over the span of the arrivals: the offered
 * load (state it with every figure). Cold starts come on top.
 */
export function offeredLoad(plan: Plan, cores = plan.workload.host.cores): number {
  let work = 0;
  for (let i = 0; i < plan.count; i++) work += plan.cpu[i]!;
  return work / (plan.spanMicros * cores);
}

/** Whether waits follow the CPU work: both come from one recorded duration. */
export function sameShape(fn: WorkloadFunction): boolean {
  const { cpuMs, ioMs } = fn.profile;
  return (
    typeof cpuMs === 'object' &&
    typeof ioMs === 'object' &&
    'quantiles' in cpuMs &&
    'quantiles' in ioMs
  );
}
