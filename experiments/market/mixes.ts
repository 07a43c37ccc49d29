import { type Random, SeededRandom } from '../../config/index.js';
import {
  checkWorkload,
  expectedLoad,
  normalQuantile,
  type Workload,
} from '../../simulator/workload/index.js';

/** Length of a phase, and the host on which a mix runs. */
const PHASE_MS = 120_000;
const CORES = 8;
/** Memory for every container that the functions may have, so that CPU is scarce. */
const HOST = { cores: CORES, memoryMiB: 131_072, userMemoryMiB: 98_304 };
const MAX_CONTAINERS = 20;
/** CPU work of a function at equal shares grows with the root of one activation's work. */
const WORK_EXPONENT = 0.5;
/** Deviation of the logarithm of a function's part in a phase. */
const SHIFT_SIGMA = 0.7;
/** In each phase one of the two classes of objectives has this much more work than its part. */
const TILT = 2;
/** Objective / p99 of an activation alone. */
const TIGHT = [1.2, 2] as const;
const RELAXED = [4, 8] as const;
const P99 = normalQuantile(0.99);

type MixFunction = Omit<Workload['functions'][number], 'arrivals'>;

/** A set of functions, and the offered load of each phase. */
export interface MarketMix {
  readonly name: string;
  /** Of the functions and of the shifts; another seed is another mix. */
  readonly seed: number;
  readonly loads: readonly number[];
}

/**
 * While building and tuning. Held out: other functions and other loads, on which nothing was
 * chosen; the range of weights was chosen on drawn 11 and 12 (docs/decisions/0014).
 */
export const BUILT: readonly MarketMix[] = [
  { name: 'drawn 1', seed: 1, loads: [0.9, 0.7, 1.05] },
  { name: 'drawn 2', seed: 2, loads: [0.95, 0.8, 0.9] },
];
export const HELD_OUT: readonly MarketMix[] = [
  { name: 'drawn 21', seed: 21, loads: [0.85, 1, 0.7] },
  { name: 'drawn 22', seed: 22, loads: [0.9, 0.8, 1.05] },
];

/** Where a phase begins, us, for figures by phase. */
export const phaseOf = (micros: number): number => Math.floor(micros / (1000 * PHASE_MS));

/** The mix as a workload whose load and shares of functions change from phase to phase. */
export function mixWorkload({ name, seed, loads }: MarketMix): Workload {
  const random = new SeededRandom(seed).fork('market drawn');
  const functions = drawnFunctions(random);
  const shifts = random.fork('shifts');
  const works = functions.map(workMs);
  const counts = functions.map((): number[] => []);
  loads.forEach((load, phase) => {
    const parts = functions.map(
      (fn, i) =>
        works[i]! ** WORK_EXPONENT *
        Math.exp(SHIFT_SIGMA * normal(shifts)) *
        (isTight(fn) === (phase % 2 === 0) ? TILT : 1),
    );
    const sum = parts.reduce((total, part) => total + part, 0);
    functions.forEach((_, i) => {
      const cores = (load * CORES * parts[i]!) / sum;
      counts[i]!.push(Math.max(1, Math.round((cores * PHASE_MS) / works[i]!)));
    });
  });
  return checkWorkload({
    version: 1,
    name: `market ${name}`,
    host: HOST,
    functions: functions.map((fn, i) => ({
      ...fn,
      arrivals: { perMinute: counts[i]!, sliceMs: PHASE_MS, within: 'poisson' },
    })),
  });
}

/** Mean CPU work of an activation, ms. */
function workMs(fn: MixFunction): number {
  const arrivals = { ratePerSecond: 1, seconds: 1000 };
  const alone = checkWorkload({
    version: 1,
    name: fn.name,
    host: HOST,
    functions: [{ ...fn, arrivals }],
  });
  return 1000 * expectedLoad(alone, 1);
}

/** Relaxed objectives are those from three times the p99 of an activation alone. */
const isTight = (fn: MixFunction): boolean =>
  (fn.sloMs ?? Number.POSITIVE_INFINITY) < 3 * aloneP99(fn.profile);

const FUNCTIONS = 12;

/** Twelve functions from 20 ms to 1 s of CPU, every second one with a tight objective. */
function drawnFunctions(random: Random): MixFunction[] {
  return Array.from({ length: FUNCTIONS }, (_, i) => {
    const draw = random.fork(`function ${i}`);
    const between = (low: number, high: number): number => low + (high - low) * draw.next();
    const cpu = 20 * 50 ** draw.next();
    const io = draw.next() < 0.5 ? cpu * between(0.1, 1.5) : 0;
    const profile = {
      parallelism: draw.next() < 0.25 ? 2 : between(0.5, 1),
      cpuMs: { lognormal: { median: rounded(cpu), sigma: 0.1 } },
      ioMs: io > 0 ? { lognormal: { median: rounded(io), sigma: 0.3 } } : 0,
      memory: { baseMiB: 45, peakMiB: 90, growth: 0.5, retained: 0.1 },
      payload: { median: 1, sigma: between(0.1, 0.8), cpu: 1, io: 0, memory: 0 },
      initMs: rounded(between(50, 200)),
      coldStartMs: 450,
    };
    const [low, high] = i % 2 === 0 ? TIGHT : RELAXED;
    return {
      name: `/market/f${String(i).padStart(2, '0')}`,
      version: '0.0.1',
      kind: 'compute',
      userCpuMillicores: null,
      memoryMiB: [128, 256, 512][draw.below(3)]!,
      timeoutMs: 60_000,
      maxContainers: MAX_CONTAINERS,
      sloMs: rounded(between(low, high) * aloneP99(profile)),
      profile,
    };
  });
}

/** About the p99 of an activation alone: of CPU work and waits that do not depend on each other. */
function aloneP99({ cpuMs, ioMs, payload, parallelism }: MixFunction['profile']): number {
  const cpu = lognormal(cpuMs);
  const io = lognormal(ioMs);
  const sigma = Math.hypot(cpu.sigma, payload.sigma * payload.cpu);
  return (
    (cpu.median * Math.exp(P99 * sigma)) / Math.min(1, parallelism) +
    io.median * Math.exp(payload.io * payload.sigma)
  );
}

function lognormal(distribution: MixFunction['profile']['cpuMs']): {
  median: number;
  sigma: number;
} {
  return typeof distribution === 'object' && 'lognormal' in distribution
    ? distribution.lognormal
    : { median: 0, sigma: 0 };
}

/** Two significant digits, as a user would write it. */
const rounded = (value: number): number => Number(value.toPrecision(2));

const normal = (random: Random): number => normalQuantile(random.next());
