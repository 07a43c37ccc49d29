import {
  type ActivationRecorder,
  ClusterOutcome,
  ENOUGH,
  type PolicyMaterial,
  type RunSummary,
  type SimulatedActivation,
  simulateCluster,
} from '../../simulator/engine/index.js';
import { activationStream, openWorkload } from '../../simulator/workload/index.js';
import { contender, FIXED, FLOORS, NOISE, REDRAWN, Slowdowns } from '../compare/index.js';
import {
  type Interval,
  isBelow,
  mean,
  meanInterval,
  type Paired,
  pairedWith,
  quantileOf,
} from '../statistics.js';

/** The workers. The host's own memory is more than what OpenWhisk gives to containers. */
export const CORRECTED_SHAPE = {
  hosts: 20,
  cores: 8,
  memoryMiB: 4096,
  userMemoryMiB: 2048,
} as const;

const LEARNED = 'faasrm';
export const CORRECTED_CONTENDERS = [
  FIXED,
  // Placement has nothing to draw on this model; other arrivals are what noise alone does.
  ...NOISE.filter(({ redrawn }) => redrawn === 'everything'),
  ...['greedy', 'ensure', 'libra', LEARNED, ...FLOORS].map(contender),
];

export interface CorrectedSetting {
  readonly workload: string;
  /** Offered CPU load. */
  readonly load: number;
  /** Absent: the part once. */
  readonly activations?: number;
}

export const CORRECTED_FIGURES = {
  'slowdown.mean': 'slowdown of waiting and running, mean',
  'slowdown.p99': 'the same, p99',
  'rfet.mean': 'RFET, mean',
  'rfet.p98': 'RFET, p98',
  'execution.p98': 'execution, p98, s',
  'execution.p99': 'execution, p99, s',
  'worst.victim': 'worst function against fixed',
  'cold.share': 'cold starts',
  'harvested.share': 'harvested',
  'accelerated.share': 'accelerated',
  'saved.seconds': 'run time saved (estimate), s',
  'failed.share': 'not successful',
} as const;
export type CorrectedFigure = keyof typeof CORRECTED_FIGURES;

export interface CorrectedRow {
  readonly contender: string;
  readonly figures: Readonly<Record<CorrectedFigure, Interval>>;
  /** By seed. */
  readonly values: Readonly<Record<CorrectedFigure, readonly number[]>>;
}

export interface CorrectedSection {
  readonly setting: CorrectedSetting;
  readonly seeds: readonly number[];
  /**
   * Of a run: activations, CPU asked for over all cores, and memory held by activations under
   * `fixed` over all user memory.
   */
  readonly activations: number;
  readonly load: number;
  readonly memoryLoad: number;
  readonly rows: readonly CorrectedRow[];
}

/** The learned policy against one floor. */
export interface CorrectedVerdict {
  readonly floor: string;
  readonly difference: Paired['difference'];
  /** The paired interval lies wholly below 0; the two intervals do not touch. */
  readonly better: boolean;
  readonly apart: boolean;
}

/** What is kept of the activations beside the run's own summary. */
class StudyActivations implements ActivationRecorder {
  readonly slowdowns: Slowdowns;
  readonly #memoryMiB: readonly number[];
  readonly #rfet: number[] = [];
  readonly #seconds: number[] = [];
  /** MiB-us held by activations that had a container. */
  held = 0;

  constructor(functions: readonly { readonly memoryMiB: number }[]) {
    this.slowdowns = new Slowdowns(functions.length);
    this.#memoryMiB = functions.map(({ memoryMiB }) => memoryMiB);
  }

  record(activation: SimulatedActivation): void {
    this.slowdowns.record(activation);
    if (activation.endedAt > activation.placedAt)
      this.held += (activation.endedAt - activation.placedAt) * this.#memoryMiB[activation.fn]!;
    if (activation.outcome !== ClusterOutcome.success) return;
    const execution = activation.endedAt - activation.runAt;
    this.#rfet.push(execution / activation.userMicros);
    this.#seconds.push(execution / 1e6);
  }

  quantiles(): { rfet: Float64Array; seconds: Float64Array } {
    return {
      rfet: Float64Array.from(this.#rfet).sort(),
      seconds: Float64Array.from(this.#seconds).sort(),
    };
  }
}

interface Played {
  readonly run: RunSummary;
  readonly activations: StudyActivations;
  readonly memoryLoad: number;
}

function play(
  { workload, load, activations }: CorrectedSetting,
  {
    name,
    manager,
    safeguard,
    quotaPolicy,
    weightPolicy,
    redrawn,
  }: (typeof CORRECTED_CONTENDERS)[number],
  seed: number,
  learned: PolicyMaterial,
): Played {
  const { hosts, cores, userMemoryMiB } = CORRECTED_SHAPE;
  const drawn = redrawn === undefined ? seed : seed + REDRAWN;
  const scaling = { load, cores: hosts * cores };
  const loaded = openWorkload(workload, {
    seed: drawn,
    part: 'test',
    partBy: 'time',
    load: scaling,
  });
  const stream = activationStream(loaded, { seed: drawn, activations });
  const recorder = new StudyActivations(stream.functions);
  const run = simulateCluster({
    activations: stream,
    cluster: CORRECTED_SHAPE,
    mode: 'quota',
    manager,
    safeguard,
    quotaPolicy,
    weightPolicy,
    ...(name === LEARNED ? { quotaParameters: learned } : {}),
    seed: drawn,
    recorder,
  });
  return {
    run,
    activations: recorder,
    memoryLoad: recorder.held / (1000 * run.spanMs * hosts * userMemoryMiB),
  };
}

/**
 * Every contender on the held-out part, seed by seed, all on the same activations. `learned`: what
 * `faasrm` plays with.
 */
export function correctedSection(
  setting: CorrectedSetting,
  seeds: readonly number[],
  learned: PolicyMaterial,
  onRun: () => void = () => undefined,
): CorrectedSection {
  const fixed = new Map<number, Played>();
  const rows = CORRECTED_CONTENDERS.map((one): CorrectedRow => {
    const runs = seeds.map((seed) => {
      const played = play(setting, one, seed, learned);
      if (one === FIXED) fixed.set(seed, played);
      onRun();
      return figuresOf(played, fixed.get(seed)!);
    });
    const keys = Object.keys(CORRECTED_FIGURES) as CorrectedFigure[];
    const each = <T>(of: (values: readonly number[]) => T): Record<CorrectedFigure, T> =>
      Object.fromEntries(keys.map((key) => [key, of(runs.map((run) => run[key]))])) as Record<
        CorrectedFigure,
        T
      >;
    return {
      contender: one.name,
      figures: each((values) => meanInterval(values)),
      values: each((values) => values),
    };
  });
  const [first] = fixed.values();
  const overSeeds = (of: (played: Played) => number): number => mean([...fixed.values()].map(of));
  return {
    setting,
    seeds,
    activations: first!.run.activations,
    load: overSeeds(({ run }) => run.offeredLoad),
    memoryLoad: overSeeds(({ memoryLoad }) => memoryLoad),
    rows,
  };
}

function figuresOf({ run, activations }: Played, fixed: Played): Record<CorrectedFigure, number> {
  const { rfet, seconds } = activations.quantiles();
  const { service } = activations.slowdowns;
  return {
    'slowdown.mean': service.mean,
    'slowdown.p99': service.quantile(0.99),
    'rfet.mean': run.rfet.mean,
    'rfet.p98': quantileOf(rfet, 0.98),
    'execution.p98': quantileOf(seconds, 0.98),
    'execution.p99': quantileOf(seconds, 0.99),
    'worst.victim': worstVictim(activations.slowdowns, fixed.activations.slowdowns),
    'cold.share': run.coldShare,
    'harvested.share': run.harvest.harvestedShare,
    'accelerated.share': run.harvest.acceleratedShare,
    'saved.seconds': run.harvest.savedSeconds,
    'failed.share': (run.activations - run.outcomes.success) / Math.max(1, run.activations),
  };
}

/**
 * Largest ratio of a function's mean slowdown to its own under `fixed`, of those with activations
 * enough in both.
 */
function worstVictim(own: Slowdowns, fixed: Slowdowns): number {
  const before = fixed.perFunction;
  return own.perFunction.reduce((worst, mean, fn) => {
    const enough = own.successes[fn]! >= ENOUGH && fixed.successes[fn]! >= ENOUGH;
    return enough ? Math.max(worst, mean / before[fn]!) : worst;
  }, 1);
}

/**
 * What contenders are judged by: what managers decide about, wait included, and what the papers
 * report.
 */
export const JUDGED_BY = [
  'slowdown.mean',
  'rfet.mean',
] as const satisfies readonly CorrectedFigure[];

export function correctedVerdicts(
  { rows }: CorrectedSection,
  key: (typeof JUDGED_BY)[number],
): CorrectedVerdict[] {
  const own = rows.find((row) => row.contender === LEARNED)!;
  return FLOORS.map((floor) => {
    const other = rows.find((row) => row.contender === floor)!;
    const { difference } = pairedWith(own.values[key], other.values[key], 0);
    return {
      floor,
      difference,
      better: isBelow(difference, 0),
      apart: isBelow(own.figures[key], other.figures[key]),
    };
  });
}
