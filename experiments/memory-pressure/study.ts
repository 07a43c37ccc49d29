import { fixedManager } from '../../agents/managers/index.js';
import { mebibytes } from '../../config/index.js';
import type { SizingRules } from '../../openwhisk-plugin/openwhisk-api/index.js';
import { SIZE_RULES } from '../../rules/index.js';
import {
  ActivationLog,
  ClusterOutcome,
  type SimulatedActivation,
  simulateCluster,
} from '../../simulator/engine/index.js';
import {
  activationStream,
  expectedLoad,
  openWorkload,
  quantile,
  takeMinutes,
  type Workload,
} from '../../simulator/workload/index.js';
import { withDefaultSizes } from '../compare/index.js';
import { StagedSizes } from '../right-sizing/index.js';
import {
  type Interval,
  mean,
  meanInterval,
  type Paired,
  pairedWith,
  quantileOf,
  sum,
} from '../statistics.js';
import { replayedColdStarts } from './furthest-next-use.js';
import { greedySizes } from './greedy-sizes.js';

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
/** Changes all actions at once, without canaries. */
const ALL = 1_000_000;
/** Sizes in steps of 16 MiB, where the product's margin rule has 64. */
const FINE = mebibytes(16);
/** Largest host memory / user-memory, as of the simulator's default host. */
const PHYSICAL = 4 / 3;

const rules = (changes: Partial<SizingRules>): SizingRules => ({
  rule: 'margin',
  leastActivations: 3,
  leastSeen: 0,
  canaries: ALL,
  watchTime: 0,
  watchActivations: 0,
  payBack: null,
  killedSizeHoldTime: DAY,
  holdTime: 5 * MINUTE,
  ...changes,
});

const fineMargin = { ...SIZE_RULES, step: FINE, minMargin: FINE };

export interface PressureArm {
  readonly name: string;
  readonly about: string;
  /** Null: nothing is changed. */
  readonly make: (() => StagedSizes) | null;
  /** The host has memory beyond user-memory to lend. */
  readonly lends: boolean;
  /** Sizes are those that the functions will need, from the start. */
  readonly known?: boolean;
}

const old = (leastActivations: number) => () =>
  new StagedSizes({
    rules: rules({ leastActivations, leastSeen: 10 * MINUTE, payBack: DAY, holdTime: 10 * MINUTE }),
    from: 0,
  });
const every = 5 * MINUTE;

export const BASELINE = 'after 200 activations';
export const GREEDY = 'greedy by Che, lent';
export const PRICE = 'price, lent';
export const PRESSURE_ARMS: readonly PressureArm[] = [
  { name: 'as users set it', about: 'nothing is changed', make: null, lends: false },
  {
    name: BASELINE,
    about: 'the recent peak + 25 % in steps of 64 MiB, looked at each minute',
    make: old(200),
    lends: false,
  },
  { name: 'after 10 activations', about: 'the same', make: old(10), lends: false },
  {
    name: 'after 10, lent',
    about: 'the same, and hooks lend what an activation needs above its size',
    make: old(10),
    lends: true,
  },
  {
    name: 'best constant, lent',
    about: 'after 3 activations the peak + 25 % in steps of 16 MiB, each five minutes',
    make: () => new StagedSizes({ rules: rules({}), from: every, every, sizes: fineMargin }),
    lends: true,
  },
  {
    name: GREEDY,
    about: "the same sizes, if Che's approximation says that they save more than they cost",
    make: () =>
      new StagedSizes({
        rules: rules({}),
        from: every,
        every,
        sizes: fineMargin,
        recommend: greedySizes,
      }),
    lends: true,
  },
  {
    name: PRICE,
    about: 'rule `price` of the product, after 3 activations, each five minutes',
    make: () => new StagedSizes({ rules: rules({ rule: 'price' }), from: every, every }),
    lends: true,
  },
  {
    name: 'price, nothing lent',
    about: 'the same without the loans',
    make: () => new StagedSizes({ rules: rules({ rule: 'price' }), from: every, every }),
    lends: false,
  },
  {
    name: 'known sizes (offline)',
    about: 'from the start the size that the largest activation needs',
    make: null,
    lends: false,
    known: true,
  },
];

export interface PressureStudyRequest {
  readonly seeds: readonly number[];
  readonly hosts: number;
  readonly cores: number;
  readonly userMemoryMiB: readonly number[];
  /** Of the sample, before it is halved. */
  readonly functions?: number;
  /** Which half of the functions; the rule was built on the second. */
  readonly half: 'held out' | 'building';
  /** Of the recording; figures are of its second half. */
  readonly minutes: number;
  readonly onRun?: (done: number, all: number) => void;
}

/** Figures of the second half of the time, but `kills`: of all of it. */
interface PressureFigures {
  readonly cold: number;
  readonly coldShare: number;
  /** Of all activations, those that failed included, ms. */
  readonly p99: number;
  readonly mean: number;
  readonly kills: number;
  readonly changes: number;
}

export interface PressureRow {
  readonly userMemoryMiB: number;
  readonly name: string;
  readonly figures: { readonly [Key in keyof PressureFigures]: Interval };
  /** OOM kills of all seeds. */
  readonly kills: number;
  /** Against `BASELINE`, and of cold starts against `GREEDY`, by seed. */
  readonly cold: Paired;
  readonly p99: Paired;
  readonly greedy: Paired;
}

/** Evictions with knowledge of the future, by replay: cold starts by seed. */
interface PressureReplay {
  readonly userMemoryMiB: number;
  readonly name: string;
  readonly cold: Interval;
}

export interface PressureStudy {
  readonly load: number;
  readonly activations: number;
  readonly rows: readonly PressureRow[];
  readonly replays: readonly PressureReplay[];
}

/** Every arm on the same activations. The same request, the same study. */
export function pressureStudy(request: PressureStudyRequest): PressureStudy {
  const { seeds, userMemoryMiB, hosts, cores, onRun } = request;
  const all = seeds.length * userMemoryMiB.length * PRESSURE_ARMS.length;
  const runs = new Map<string, PressureFigures[]>();
  const replays = new Map<string, number[]>();
  const add = <T>(map: Map<string, T[]>, key: string, value: T): void => {
    map.set(key, [...(map.get(key) ?? []), value]);
  };
  let done = 0;
  let activations = 0;
  let load = 0;
  for (const seed of seeds) {
    const workload = workloadOf(request, seed);
    load += expectedLoad(workload, hosts * cores) / seeds.length;
    for (const memory of userMemoryMiB)
      for (const arm of PRESSURE_ARMS) {
        const { figures, activations: ended } = runArm(arm, request, memory, workload, seed);
        add(runs, `${memory} ${arm.name}`, figures);
        activations = ended.length;
        if (arm.make === null)
          add(
            replays,
            `${memory} ${arm.known ? 'known sizes and ' : ''}furthest next use (offline)`,
            replayedColdStarts({
              activations: ended,
              memory: (arm.known ? withKnownSizes(workload) : workload).functions.map(
                ({ memoryMiB }) => memoryMiB,
              ),
              userMemoryMiB: memory,
              from: (request.minutes / 2) * MINUTE * 1000,
              evict: 'furthest',
            }),
          );
        onRun?.(++done, all);
      }
  }
  return {
    load,
    activations,
    rows: userMemoryMiB.flatMap((memory) =>
      PRESSURE_ARMS.map(({ name }) => rowOf(memory, name, runs)),
    ),
    replays: [...replays].map(([key, cold]) => ({
      userMemoryMiB: Number(key.slice(0, key.indexOf(' '))),
      name: key.slice(key.indexOf(' ') + 1),
      cold: meanInterval(cold),
    })),
  };
}

function workloadOf({ functions, half, minutes }: PressureStudyRequest, seed: number): Workload {
  const { workload } = openWorkload('azure-sample', { functions, seed });
  const sized = withDefaultSizes(workload);
  const rest = half === 'held out' ? 0 : 1;
  return takeMinutes(
    { ...sized, functions: sized.functions.filter((_, i) => i % 2 === rest) },
    0,
    minutes,
  );
}

const withKnownSizes = (workload: Workload): Workload => ({
  ...workload,
  functions: workload.functions.map((fn) => {
    const peak = mebibytes(quantile(fn.profile.memory.peakMiB, 1) + 1);
    const least = (Math.ceil(peak / FINE) * FINE) / mebibytes(1);
    return { ...fn, memoryMiB: Math.min(fn.memoryMiB, Math.max(128, least)) };
  }),
});

function runArm(
  { make, lends, known }: PressureArm,
  { hosts, cores, minutes }: PressureStudyRequest,
  userMemoryMiB: number,
  workload: Workload,
  seed: number,
): { figures: PressureFigures; activations: readonly SimulatedActivation[] } {
  const played = known ? withKnownSizes(workload) : workload;
  const manager = make?.() ?? null;
  const recorder = new ActivationLog();
  const warmUpMs = (minutes / 2) * MINUTE;
  const run = simulateCluster({
    activations: activationStream({ workload: played, phases: [played] }, { seed }),
    cluster: {
      hosts,
      cores,
      userMemoryMiB,
      memoryMiB: Math.round(lends ? PHYSICAL * userMemoryMiB : userMemoryMiB),
    },
    mode: 'weight',
    manager: manager ?? fixedManager(),
    safeguard: true,
    weightPolicy: 'short-first',
    seed,
    warmUpMs,
    recorder,
  });
  const { activations } = recorder;
  const responses = activations
    .filter(({ arrivedAt }) => arrivedAt >= warmUpMs * 1000)
    .map(({ arrivedAt, endedAt }) => (endedAt - arrivedAt) / 1000)
    .sort((a, b) => a - b);
  const kills = activations.filter(({ outcome }) => outcome === ClusterOutcome.outOfMemory).length;
  return {
    activations,
    figures: {
      cold: run.starts.cold,
      coldShare: run.coldShare,
      p99: quantileOf(responses, 0.99),
      mean: mean(responses),
      kills,
      changes: manager?.counts.changes ?? 0,
    },
  };
}

function rowOf(
  userMemoryMiB: number,
  name: string,
  runs: ReadonlyMap<string, readonly PressureFigures[]>,
): PressureRow {
  const of = (arm: string, key: keyof PressureFigures): number[] =>
    runs.get(`${userMemoryMiB} ${arm}`)!.map((figures) => figures[key]);
  const interval = (key: keyof PressureFigures): Interval => meanInterval(of(name, key));
  return {
    userMemoryMiB,
    name,
    figures: {
      cold: interval('cold'),
      coldShare: interval('coldShare'),
      p99: interval('p99'),
      mean: interval('mean'),
      kills: interval('kills'),
      changes: interval('changes'),
    },
    kills: sum(of(name, 'kills')),
    cold: pairedWith(of(name, 'cold'), of(BASELINE, 'cold'), 0.5),
    p99: pairedWith(of(name, 'p99'), of(BASELINE, 'p99'), 0.5),
    greedy: pairedWith(of(name, 'cold'), of(GREEDY, 'cold'), 0.5),
  };
}
