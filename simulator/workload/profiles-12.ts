import { checkWorkload, type Workload, type WorkloadInput } from './workload.js';

/** A benchmark's demand at its usual payload, and how it follows the payload's size. */
interface BenchmarkProfile {
  readonly kind: 'compute' | 'io' | 'memory';
  readonly cores: number;
  readonly cpuMs: number;
  readonly ioMs: number;
  readonly baseMiB: number;
  readonly peakMiB: number;
  /** Exponents of CPU work, waits and memory; deviation of the size's logarithm. */
  readonly payload: {
    readonly sigma: number;
    readonly cpu: number;
    readonly io: number;
    readonly memory: number;
  };
  readonly initMs: number;
  /** User limits. */
  readonly userMillicores: number;
  readonly memoryMiB: number;
  readonly perSecond: number;
}

/**
 * Twelve function profiles: the five benchmarks that the authors of [SIMPPO] used in 2021 (base64,
 * primes, markdown2html, sentiment, image-resize), json and segments of [AWARE artifact], and an
 * HTTP endpoint.
 *
 * **Assumption**: no source publishes demands; these are of the size that such code has in Node.js
 * or Python on a 3 GHz core. They span CPU-, memory- and I/O-bound; four can use more CPU than
 * their user gave (primes, matMul, floatOperations, compress), the I/O-bound ones never use theirs.
 * Exponents: text, pixels and bytes are processed once (1); a sieve up to n takes n log log n; n
 * rows of a matrix take n^3, memory n^2.
 */
const PROFILES: Readonly<Record<string, BenchmarkProfile>> = {
  // encode and decode a string of a few MB
  base64: {
    kind: 'memory',
    cores: 0.9,
    cpuMs: 45,
    ioMs: 0,
    baseMiB: 40,
    peakMiB: 70,
    payload: { sigma: 0.6, cpu: 1, io: 0, memory: 1 },
    initMs: 60,
    userMillicores: 1000,
    memoryMiB: 256,
    perSecond: 2.5,
  },
  // all primes below 10^7; the bound is the same in nearly every call
  primes: {
    kind: 'compute',
    cores: 1,
    cpuMs: 900,
    ioMs: 0,
    baseMiB: 40,
    peakMiB: 60,
    payload: { sigma: 0.1, cpu: 1.05, io: 0, memory: 1 },
    initMs: 60,
    userMillicores: 500,
    memoryMiB: 128,
    perSecond: 0.25,
  },
  // render an upload
  markdown2html: {
    kind: 'compute',
    cores: 0.8,
    cpuMs: 25,
    ioMs: 5,
    baseMiB: 45,
    peakMiB: 60,
    payload: { sigma: 0.8, cpu: 1, io: 0.3, memory: 0.5 },
    initMs: 90,
    userMillicores: 1000,
    memoryMiB: 128,
    perSecond: 3,
  },
  // score a text; loads its model at start
  sentiment: {
    kind: 'compute',
    cores: 0.9,
    cpuMs: 70,
    ioMs: 0,
    baseMiB: 110,
    peakMiB: 150,
    payload: { sigma: 0.7, cpu: 1, io: 0, memory: 0.3 },
    initMs: 600,
    userMillicores: 1000,
    memoryMiB: 256,
    perSecond: 1.5,
  },
  // decode, resize, encode; waits for the store
  'image-resize': {
    kind: 'memory',
    cores: 0.9,
    cpuMs: 140,
    ioMs: 40,
    baseMiB: 60,
    peakMiB: 130,
    payload: { sigma: 0.7, cpu: 1, io: 0.7, memory: 1 },
    initMs: 150,
    userMillicores: 1000,
    memoryMiB: 256,
    perSecond: 1.2,
  },
  // parse, change, write
  json: {
    kind: 'compute',
    cores: 0.9,
    cpuMs: 18,
    ioMs: 0,
    baseMiB: 40,
    peakMiB: 52,
    payload: { sigma: 0.9, cpu: 1, io: 0, memory: 1 },
    initMs: 60,
    userMillicores: 1000,
    memoryMiB: 128,
    perSecond: 4,
  },
  // asks another service and waits
  'http-endpoint': {
    kind: 'io',
    cores: 0.5,
    cpuMs: 4,
    ioMs: 60,
    baseMiB: 42,
    peakMiB: 48,
    payload: { sigma: 0.4, cpu: 0.3, io: 0.1, memory: 0 },
    initMs: 70,
    userMillicores: 1000,
    memoryMiB: 128,
    perSecond: 8,
  },
  // numeric library, two threads
  matMul: {
    kind: 'compute',
    cores: 2,
    cpuMs: 260,
    ioMs: 0,
    baseMiB: 60,
    peakMiB: 110,
    payload: { sigma: 0.25, cpu: 3, io: 0, memory: 2 },
    initMs: 200,
    userMillicores: 1000,
    memoryMiB: 256,
    perSecond: 0.6,
  },
  floatOperations: {
    kind: 'compute',
    cores: 1,
    cpuMs: 180,
    ioMs: 0,
    baseMiB: 38,
    peakMiB: 42,
    payload: { sigma: 0.3, cpu: 1, io: 0, memory: 0 },
    initMs: 50,
    userMillicores: 500,
    memoryMiB: 128,
    perSecond: 1,
  },
  // two threads: reads ahead while it packs
  compress: {
    kind: 'memory',
    cores: 1.5,
    cpuMs: 320,
    ioMs: 60,
    baseMiB: 45,
    peakMiB: 100,
    payload: { sigma: 0.6, cpu: 1, io: 1, memory: 0.6 },
    initMs: 60,
    userMillicores: 1000,
    memoryMiB: 256,
    perSecond: 0.5,
  },
  imageRotate: {
    kind: 'memory',
    cores: 0.9,
    cpuMs: 90,
    ioMs: 25,
    baseMiB: 60,
    peakMiB: 115,
    payload: { sigma: 0.7, cpu: 1, io: 0.7, memory: 1 },
    initMs: 150,
    userMillicores: 1000,
    memoryMiB: 256,
    perSecond: 1.2,
  },
  'file-write': {
    kind: 'io',
    cores: 0.4,
    cpuMs: 12,
    ioMs: 80,
    baseMiB: 38,
    peakMiB: 50,
    payload: { sigma: 0.6, cpu: 0.7, io: 1, memory: 0.5 },
    initMs: 50,
    userMillicores: 500,
    memoryMiB: 128,
    perSecond: 3,
  },
};

/**
 * Max replicas of a function, as a Kubernetes controller has it. Without a cap a burst of cold
 * starts at high load never ends, because each causes the next.
 */
const CONTAINERS_MAX = 20;

/**
 * Objectives, relaxed and tight, as multiples of what 99 % of the activations stay below alone at
 * the user's limits.
 */
const RELAXED_SLO_FACTOR = 6;
const STRICT_SLO_FACTOR = 1.2;
/** z of the 99th percentile. */
const P99 = 2.326;

/** Init apart, ms: CPU work and waits are lognormal and follow the payload together. */
function p99Alone({ cores, cpuMs, ioMs, payload, userMillicores }: BenchmarkProfile): number {
  const above = (exponent: number, own: number): number =>
    Math.exp(P99 * Math.hypot(exponent * payload.sigma, own));
  return (
    (cpuMs / Math.min(cores, userMillicores / 1000)) * above(payload.cpu, 0.1) +
    ioMs * above(payload.io, 0.3)
  );
}

/**
 * Different objectives: ordered by CPU work, every second function has a tight one and the others a
 * relaxed one, so that an objective does not reveal a function's length. Two significant digits, as
 * a user would write them.
 */
function objectives(): Map<string, number> {
  const byWork = Object.entries(PROFILES).sort(([, a], [, b]) => a.cpuMs - b.cpuMs);
  return new Map(
    byWork.map(([name, of], rank) => [
      name,
      Number(
        ((rank % 2 === 1 ? STRICT_SLO_FACTOR : RELAXED_SLO_FACTOR) * p99Alone(of)).toPrecision(2),
      ),
    ]),
  );
}

/** The same with the objectives of {@link objectives}. */
export function profiles12Apart(): Workload {
  const workload = profiles12();
  const of = objectives();
  const functions = workload.functions.map((fn) => ({
    ...fn,
    sloMs: of.get(fn.name.slice('/guest/'.length))!,
  }));
  return checkWorkload({ ...workload, name: 'profiles-12-slos', functions });
}

/**
 * One host with memory for every container that the functions may have, so that CPU is what is
 * scarce.
 */
const HOST = { cores: 8, memoryMiB: 131_072, userMemoryMiB: 98_304 } as const;

/** The twelve profiles with Poisson arrivals for an hour. */
export function profiles12(): Workload {
  return checkWorkload({
    version: 1,
    name: 'profiles-12',
    description:
      'twelve serverless benchmarks with demand that follows the payload; ' +
      'their demand is assumed (simulator/workload/README.md)',
    host: HOST,
    functions: Object.entries(PROFILES).map(([name, of]): WorkloadInput['functions'][number] => ({
      name: `/guest/${name}`,
      kind: of.kind,
      userCpuMillicores: of.userMillicores,
      memoryMiB: of.memoryMiB,
      maxContainers: CONTAINERS_MAX,
      profile: {
        parallelism: of.cores,
        cpuMs: { lognormal: { median: of.cpuMs, sigma: 0.1 } },
        ioMs: of.ioMs === 0 ? 0 : { lognormal: { median: of.ioMs, sigma: 0.3 } },
        memory: { baseMiB: of.baseMiB, peakMiB: of.peakMiB, growth: 0.5, retained: 0.1 },
        payload: of.payload,
        initMs: of.initMs,
      },
      arrivals: { ratePerSecond: of.perSecond, seconds: 3600 },
    })),
  });
}
