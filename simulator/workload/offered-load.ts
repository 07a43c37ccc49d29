import { expectedActivations, roundSpanMs } from './arrivals.js';
import { compressionOf, sameShape, soloMs } from './demand-table.js';
import { mean, normalQuantile, quantile } from './distribution.js';
import {
  type Compression,
  checkWorkload,
  type Workload,
  WorkloadError,
  type WorkloadFunction,
} from './workload.js';

/**
 * A workload at a stated load, with what was done to it: print `describeScaling` beside every
 * figure.
 */
export interface ScaledWorkload {
  readonly workload: Workload;
  /** What gaps between activations are multiplied by; durations are never changed. */
  readonly factor: number;
  readonly cores: number;
  /** Offered load on the cores, before and after. */
  readonly before: number;
  readonly after: number;
}

/** Length of one round, us of played time. */
function spanMicros(workload: Workload): number {
  return Math.ceil((roundSpanMs(workload.functions) * 1000) / workload.compression.time);
}

/**
 * Offered load: activations x mean CPU work over cores x span. By the distributions, not by one
 * draw; cold starts come on top.
 */
export function expectedLoad(workload: Workload, cores: number): number {
  let workMs = 0;
  for (const fn of workload.functions) {
    const count = expectedActivations(fn.arrivals);
    if (count > 0) workMs += count * meanCpuMs(fn, workload.compression);
  }
  return (workMs * 1000) / (spanMicros(workload) * cores);
}

/** Mean CPU work of an activation of the function, core-ms. */
function meanCpuMs(fn: WorkloadFunction, compression: Compression): number {
  const { cpuMs, payload } = fn.profile;
  if (compression.duration === 1) {
    // s is lognormal: E[s^k] = median^k exp((k sigma)^2 / 2).
    return (
      mean(cpuMs) * payload.median ** payload.cpu * Math.exp((payload.cpu * payload.sigma) ** 2 / 2)
    );
  }
  return compressedMeanMs(fn, compression);
}

/** Points per dimension of the integral over an activation's draws. */
const POINTS = 2048;

/**
 * Long durations are shortened one by one, so the mean is an integral over the draws: by the
 * midpoints of the CPU's probability, with payload and wait taken along two additive sequences
 * (Kronecker), which cover the cube evenly.
 */
function compressedMeanMs(fn: WorkloadFunction, compression: Compression): number {
  const { cpuMs, ioMs, payload } = fn.profile;
  const together = sameShape(fn);
  let sum = 0;
  for (let i = 0; i < POINTS; i++) {
    const u = (i + 0.5) / POINTS;
    // The fractional parts of i/g and i/g^2, g^3 = g + 1: the plane's counterpart of the golden
    // ratio.
    const size =
      payload.median * Math.exp(payload.sigma * normalQuantile((0.5 + i * 0.7548776662466927) % 1));
    const cpu = quantile(cpuMs, u) * size ** payload.cpu;
    const io =
      quantile(ioMs, together ? u : (0.5 + i * 0.5698402909980532) % 1) * size ** payload.io;
    sum += cpu * compressionOf(soloMs(fn, cpu, io), compression);
  }
  return sum / POINTS;
}

/**
 * Scales a workload to an offered load on a number of cores: the gaps between activations are
 * stretched or compressed, so that bursts keep their shape.
 *
 * @throws WorkloadError if it is impossible
 */
export function scaleToLoad(
  workload: Workload,
  { load, cores }: { readonly load: number; readonly cores: number },
): ScaledWorkload {
  const before = expectedLoad(workload, cores);
  if (!(load > 0 && cores > 0 && before > 0)) {
    throw new WorkloadError(workload.name, [
      `cannot be scaled from load ${before} to ${load} on ${cores} cores`,
    ]);
  }
  const factor = before / load;
  const compression = { ...workload.compression, time: workload.compression.time / factor };
  // Only the compression is new, so it alone is checked, with one function; the caller's functions
  // are taken as they are. Copies of them would be most of a run's memory.
  const [first] = workload.functions;
  const checked = checkWorkload({ ...workload, compression, functions: [first] }, workload.name);
  const scaled = { ...checked, functions: workload.functions };
  return { workload: scaled, factor, cores, before, after: expectedLoad(scaled, cores) };
}

/** One line for people: the load and how it was reached. */
export function describeScaling({ factor, cores, before, after }: ScaledWorkload): string {
  const changes =
    `gaps between activations x ${factor.toPrecision(4)}; ${before.toFixed(3)} before; ` +
    'durations as recorded';
  return `offered load ${after.toFixed(3)} on ${cores} cores (${changes})`;
}
