import { MIB, SeededRandom } from '../../config/index.js';
import {
  ActivationBlock,
  checkWorkload,
  DemandTable,
  profiles12,
  type Workload,
  type WorkloadFunction,
} from '../../simulator/workload/index.js';

/**
 * Activations whose demand is drawn once and then met again and again, in random order. A power of
 * two.
 */
const DRAWN = 4096;

/**
 * A function as the autoscaling protocol runs it: what its activations need, and how long a
 * container takes to start.
 */
export interface ScaledFunction {
  readonly name: string;
  /** Cores that one activation can keep busy. */
  readonly parallelism: number;
  /**
   * Of each of `DRAWN` activations: CPU work in core-ms, wait without a core in ms, highest working
   * set in bytes.
   */
  readonly cpu: Float64Array;
  readonly io: Float64Array;
  readonly peak: Float64Array;
  /** Their means, core-ms and ms. */
  readonly meanCpu: number;
  readonly meanIo: number;
  /** Working set of an idle container, bytes. */
  readonly base: number;
  readonly coldStartMs: number;
  /** CPU work of `/init`, core-ms. */
  readonly initMs: number;
  /** Activations a second as the workload has them, before it is brought to a load. */
  readonly perSecond: number;
}

const average = (of: Float64Array): number => of.reduce((sum, one) => sum + one, 0) / of.length;

/** Demand of a workload's functions, drawn as the simulator draws it. */
function scaledFunctions(workload: Workload, seed: number): ScaledFunction[] {
  const random = new SeededRandom(seed).fork('demand');
  const streams = workload.functions.map(({ name }) => random.fork(name));
  const table = new DemandTable(workload, streams);
  return workload.functions.map((fn, index) => {
    const block = new ActivationBlock(DRAWN);
    block.fn.fill(index);
    table.fill(block, DRAWN);
    const cpu = block.cpu.map((micros) => micros / 1000);
    const io = block.io.map((micros) => micros / 1000);
    return {
      name: fn.name,
      parallelism: fn.profile.parallelism,
      cpu,
      io,
      peak: block.peak,
      meanCpu: average(cpu),
      meanIo: average(io),
      base: fn.profile.memory.baseMiB * MIB,
      coldStartMs: fn.profile.coldStartMs,
      initMs: fn.profile.initMs,
      perSecond: rateOf(fn),
    };
  });
}

function rateOf({ arrivals }: WorkloadFunction): number {
  return 'ratePerSecond' in arrivals ? arrivals.ratePerSecond : 1;
}

/**
 * By how much the work of a profile's second, third ... copy differs from the first's: deviation of
 * the logarithm.
 */
const COPY_SIGMA = 0.3;

/**
 * `count` functions: the twelve profiles in turn; copies beyond the twelfth have the same shape and
 * work of another size, so that no two are alike. A function is the same whatever the count is.
 */
export function profileFunctions(count: number, seed = 1): ScaledFunction[] {
  const profiles = profiles12();
  const random = new SeededRandom(seed).fork('copies');
  const functions = Array.from({ length: count }, (_, i) => {
    const of = profiles.functions[i % profiles.functions.length]!;
    const copy = Math.floor(i / profiles.functions.length);
    if (copy === 0) return of;
    const draw = random.fork(`${i}`);
    // Twelve uniform draws: near enough to normal, and bounded.
    let normal = -6;
    for (let k = 0; k < 12; k++) normal += draw.next();
    const factor = Math.exp(COPY_SIGMA * normal);
    const { cpuMs, ...rest } = of.profile;
    const lognormal = typeof cpuMs === 'object' && 'lognormal' in cpuMs ? cpuMs.lognormal : null;
    if (lognormal === null) throw new TypeError(`${of.name}: its CPU work is not lognormal`);
    return {
      ...of,
      name: `${of.name}-${copy + 1}`,
      profile: {
        ...rest,
        cpuMs: { lognormal: { ...lognormal, median: lognormal.median * factor } },
      },
    };
  });
  return scaledFunctions(
    checkWorkload({ ...profiles, name: `profiles x ${count}`, functions }),
    seed,
  );
}
