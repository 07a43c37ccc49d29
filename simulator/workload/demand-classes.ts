import type { Random } from '../../config/index.js';

/**
 * What Azure's traces do not say: how much CPU an activation needs. **Assumption**, by class of
 * function; docs/workloads.md has it as a table. A recorded duration D is read as the duration
 * alone at the user's CPU, of which the share `busy` computes: CPU work = busy x D x
 * min(parallelism, user CPU), wait = (1 - busy) x D. So a function that could use more cores than
 * its user gave becomes faster with more, and one with fewer busy cores than its user CPU loses
 * nothing by less.
 */
export interface DemandClass {
  readonly kind: string;
  /** Cores the function can keep busy. */
  readonly parallelism: number;
  readonly busy: number;
  readonly userCpuMillicores: number;
  readonly initMs: number;
  /** Share of memory above the base that an activation leaves behind in its container. */
  readonly retained: number;
}

const compute = { kind: 'compute', busy: 1, initMs: 60, retained: 0 };
const waits = { kind: 'io', busy: 0.6, initMs: 60, retained: 0 };

/**
 * The ten functions of the evaluation in [FaaSRM]. Their user CPU is half a core for each core of
 * the published configuration (dh 2, eg 1, ip 2, vp 2, ir 2, knn 2, alu 1, ms 1, gd 1, dv 2), so
 * that the set is useful on two cores too. As published, alu, gd and ip can use more than that
 * (accelerated) and the others less (harvested).
 */
const TEN: Readonly<Record<string, DemandClass>> = {
  // dynamic html: fills templates, waits for its store
  dh: { ...waits, busy: 0.9, parallelism: 0.4, userCpuMillicores: 1000 },
  // e-mail generation: a few milliseconds
  eg: { ...waits, parallelism: 0.25, userCpuMillicores: 500 },
  // image processing: one thread a tile
  ip: { ...compute, parallelism: 2, userCpuMillicores: 1000, retained: 0.3 },
  // video processing: reads, encodes on one thread
  vp: { ...waits, busy: 0.8, parallelism: 0.7, userCpuMillicores: 1000 },
  // image recognition
  ir: {
    ...compute,
    busy: 0.9,
    parallelism: 0.6,
    userCpuMillicores: 1000,
    retained: 0.5,
    initMs: 200,
  },
  // k nearest neighbors
  knn: { ...compute, parallelism: 0.6, userCpuMillicores: 1000 },
  // arithmetic, one thread a core
  alu: { ...compute, parallelism: 2, userCpuMillicores: 500 },
  // merge sort: memory bound, one thread
  ms: { ...compute, parallelism: 0.3, userCpuMillicores: 500 },
  // gradient descent: vectorised
  gd: { ...compute, parallelism: 1, userCpuMillicores: 500 },
  // DNA visualisation: waits for its input
  dv: { ...waits, busy: 0.5, parallelism: 0.5, userCpuMillicores: 1000 },
};

/**
 * Shares of classes among other functions, by trigger: queues and timers compute, requests wait.
 */
const CLASSES: readonly {
  readonly share: number;
  readonly waiting: number;
  readonly of: DemandClass;
}[] = [
  {
    share: 0.45,
    waiting: 0.3,
    of: { ...compute, busy: 0.95, parallelism: 1, userCpuMillicores: 1000 },
  },
  {
    share: 0.3,
    waiting: 0.55,
    of: { ...waits, busy: 0.7, parallelism: 0.4, userCpuMillicores: 1000 },
  },
  { share: 0.15, waiting: 0.1, of: { ...compute, parallelism: 2, userCpuMillicores: 1000 } },
  {
    share: 0.1,
    waiting: 0.05,
    of: { ...compute, kind: 'parallel', parallelism: 4, userCpuMillicores: 2000 },
  },
];

/** Triggers whose functions wait for others more than they compute. */
const WAITING = new Set(['http', 'orchestration']);

/** The class of a function: described by name, else drawn by its trigger. */
export function demandClass(name: string, trigger: string, random: Random): DemandClass {
  const known = Object.hasOwn(TEN, name) ? TEN[name] : undefined;
  if (known !== undefined) return known;
  let left = random.next();
  for (const { share, waiting, of } of CLASSES) {
    left -= WAITING.has(trigger) ? waiting : share;
    if (left < 0) return of;
  }
  return CLASSES[0]!.of;
}
