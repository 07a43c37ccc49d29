import { type Random, SeededRandom } from '../../config/index.js';
import { expectedActivations, roundSpanMs } from './arrivals.js';
import { mean, normalQuantile, quantile } from './distribution.js';
import { compressionOf, sameShape, soloMs } from './plan.js';
import {
  type Arrivals,
  type Compression,
  checkWorkload,
  type Workload,
  WorkloadError,
  type WorkloadFunction,
} from './workload.js';

/** How a workload is scaled to an offered load; durations are never changed. */
export type LoadScaling = 'time' | 'thin' | 'cores';

/**
 * A workload at a stated load, with what was done to it: print `describeScaling` beside every
 * figure.
 */
export interface ScaledWorkload {
  readonly workload: Workload;
  readonly by: LoadScaling;
  /**
   * `time`: what gaps are multiplied by; `thin`: share of calls kept; `cores`: cores over the cores
   * asked for.
   */
  readonly factor: number;
  readonly cores: number;
  /** Offered load on the cores asked for, before and after. */
  readonly before: number;
  readonly after: number;
}

/** Length of one round, us of played time. */
function spanMicros(workload: Workload): number {
  return Math.ceil((roundSpanMs(workload.functions) * 1000) / workload.compression.time);
}

/**
 * Offered load: calls x CPU work of a call, in the mean, over cores x span. By the distributions,
 * not by one draw; cold starts come on top.
 */
export function expectedLoad(workload: Workload, cores: number): number {
  let workMs = 0;
  for (const fn of workload.functions) {
    const calls = expectedActivations(fn.arrivals);
    if (calls > 0) workMs += calls * meanCpuMs(fn, workload.compression);
  }
  return (workMs * 1000) / (spanMicros(workload) * cores);
}

/** CPU work of a call of the function in the mean, core-ms. */
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

/** Points per dimension of the integral over a call's draws. */
const POINTS = 2048;

/**
 * Long durations are shortened call by call, so the mean is an integral over the draws: by the
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
 * Scales a workload to an offered load on a number of cores. `time` (default) stretches or
 * compresses the gaps between activations, so bursts keep their shape; `thin` keeps a random share
 * of the activations (only downwards), so clock time keeps its meaning; `cores` changes only the
 * number of cores, also in `workload.host.cores`. Durations are never changed.
 *
 * @throws WorkloadError if it is impossible
 */
export function scaleToLoad(
  workload: Workload,
  options: {
    readonly load: number;
    readonly cores: number;
    readonly by?: LoadScaling;
    readonly seed?: number;
  },
): ScaledWorkload {
  const { load, cores, by = 'time' } = options;
  const before = expectedLoad(workload, cores);
  if (!(load > 0 && cores > 0 && before > 0)) {
    throw new WorkloadError(workload.name, [
      `cannot be brought from load ${before} to ${load} on ${cores} cores`,
    ]);
  }
  const factor = before / load;
  if (by === 'time') {
    const compression = { ...workload.compression, time: workload.compression.time / factor };
    const scaled = checkWorkload({ ...workload, compression }, workload.name);
    return { workload: scaled, by, factor, cores, before, after: expectedLoad(scaled, cores) };
  }
  if (by === 'cores') {
    const needed = Math.max(1, Math.round(cores * factor));
    const host = { ...workload.host, cores: needed };
    const after = expectedLoad(workload, needed);
    return {
      workload: checkWorkload({ ...workload, host }),
      by,
      factor: needed / cores,
      cores: needed,
      before,
      after,
    };
  }
  if (factor < 1) {
    throw new WorkloadError(workload.name, [
      `thinning cannot raise its load of ${before.toFixed(3)} on ${cores} cores to ${load}: ` +
        'scale by time or cores',
    ]);
  }
  const root = new SeededRandom(options.seed ?? workload.seed);
  const functions = workload.functions.flatMap((fn) => {
    const arrivals = thinned(fn.arrivals, 1 / factor, root.fork(fn.name).fork('thin'));
    return arrivals === undefined ? [] : [{ ...fn, arrivals }];
  });
  if (functions.length === 0)
    throw new WorkloadError(workload.name, [`no call is left at load ${load}`]);
  const thin = checkWorkload({ ...workload, functions }, workload.name);
  return {
    workload: thin,
    by,
    factor: 1 / factor,
    cores,
    before,
    after: expectedLoad(thin, cores),
  };
}

/** One line for people: the load and how it was reached. */
export function describeScaling({ by, factor, cores, before, after }: ScaledWorkload): string {
  const how = {
    time: `gaps between calls x ${factor.toPrecision(4)}`,
    thin: `${(factor * 100).toPrecision(4)} % of the calls kept`,
    cores: `cores x ${factor.toPrecision(4)}`,
  }[by];
  const changes = `${how}; ${before.toFixed(3)} before; durations as recorded`;
  return `offered load ${after.toFixed(3)} on ${cores} cores (${changes})`;
}

function thinned(arrivals: Arrivals, share: number, random: Random): Arrivals | undefined {
  if ('ratePerSecond' in arrivals)
    return { ...arrivals, ratePerSecond: arrivals.ratePerSecond * share };
  const kept = (count: number) => {
    let left = 0;
    for (let i = 0; i < count; i++) if (random.next() < share) left++;
    return left;
  };
  if ('perMinute' in arrivals) return { ...arrivals, perMinute: arrivals.perMinute.map(kept) };
  const atMs = arrivals.atMs.filter(() => random.next() < share);
  return atMs.length === 0 ? undefined : { ...arrivals, atMs };
}
