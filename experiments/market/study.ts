import type { ResourceManager } from '../../agents/index.js';
import { MARKET, marketManager } from '../../agents/market/index.js';
import {
  type ClusterOptions,
  ClusterOutcome,
  type SimulatedActivation,
  simulateCluster,
} from '../../simulator/engine/index.js';
import { type Workload, WorkloadStream } from '../../simulator/workload/index.js';
import { Slowdowns } from '../compare/index.js';
import { type Interval, mean, meanInterval, pairedWith, sum } from '../statistics.js';
import { banditManager } from './bandit.js';
import {
  FACTORS,
  type FactorPlan,
  type PhaseTrial,
  plannedManager,
  searchPlans,
  slackPlan,
} from './factors.js';
import { type MarketMix, mixWorkload, phaseOf } from './mixes.js';

/** How a run differs from OpenWhisk's weights. */
interface Arm {
  readonly name: string;
  /** Made for each run; absent: a factor of 1 for all. */
  readonly manager?: (workload: Workload) => ResourceManager;
  /** Default: `gittins`. Null: OpenWhisk alone. */
  readonly policy?: 'deadline-first' | null;
  readonly danger?: number;
  readonly meanField?: boolean;
}

const ONE: FactorPlan = () => 1;
const plan = (of: (workload: Workload) => FactorPlan) => (workload: Workload) =>
  plannedManager(workload, of(workload)) as ResourceManager;
const market =
  (settings: Partial<typeof MARKET> = {}) =>
  (): ResourceManager =>
    marketManager({ ...MARKET, ...settings }) as ResourceManager;

/** What is late, and how slow each function is, in one run. */
interface MarketRun {
  readonly activations: number;
  /** Failed, or with a `/run` longer than the objective. */
  readonly late: number;
  /** Failed, or longer with waiting for a container, cold start and `/init`. */
  readonly lateWithStart: number;
  readonly lateByPhase: readonly number[];
  readonly meanSlowdown: number;
  readonly p99Slowdown: number;
  readonly slowdowns: readonly number[];
  readonly offeredLoad: number;
}

function runArm(mix: MarketMix, workload: Workload, arm: Arm, seed: number): MarketRun {
  const { cores, memoryMiB, userMemoryMiB } = workload.host;
  const slowdowns = new Slowdowns(workload.functions.length);
  const lateByPhase = mix.loads.map(() => 0);
  let activations = 0;
  let lateWithStart = 0;
  const record = (activation: SimulatedActivation): void => {
    slowdowns.record(activation);
    activations++;
    const objective = 1000 * workload.functions[activation.fn]!.sloMs!;
    const failed = activation.outcome !== ClusterOutcome.success;
    if (failed || activation.endedAt - activation.arrivedAt > objective) lateWithStart++;
    // The hook's objectives are of `/run`, too.
    if (!failed && activation.endedAt - activation.runAt <= objective) return;
    lateByPhase[Math.min(mix.loads.length - 1, phaseOf(activation.arrivedAt))]!++;
  };
  const managed: Partial<ClusterOptions> =
    arm.policy === null
      ? { manager: 'fixed', safeguard: false }
      : {
          manager: arm.manager?.(workload) ?? plan(() => ONE)(workload),
          weightPolicy: arm.policy ?? 'gittins',
          ...(arm.danger === undefined ? {} : { weightParameters: { danger: arm.danger } }),
          control: { meanField: arm.meanField ?? true },
        };
  const run = simulateCluster({
    activations: new WorkloadStream(workload, { seed }),
    cluster: { hosts: 1, cores, memoryMiB, userMemoryMiB },
    mode: 'weight',
    ...managed,
    seed,
    recorder: { record },
  });
  return {
    activations,
    late: lateByPhase.reduce((sum, late) => sum + late, 0),
    lateWithStart,
    lateByPhase,
    meanSlowdown: slowdowns.service.mean,
    p99Slowdown: slowdowns.service.quantile(0.99),
    slowdowns: [...slowdowns.perFunction],
    offeredLoad: run.offeredLoad,
  };
}

interface MarketRequest {
  /** Tuned on. */
  readonly built: readonly MarketMix[];
  readonly heldOut: readonly MarketMix[];
  /** Of tuning and searches. */
  readonly trainingSeeds: readonly number[];
  /** Of the figures. */
  readonly seeds: readonly number[];
  /** Searches the factors of each held-out mix, on its own functions and loads. */
  readonly search: boolean;
  readonly onRun?: (done: number, all: number) => void;
}

/** A parameter's value and the late activations that it leaves, against a factor of 1. */
interface Tuned {
  readonly rule: string;
  readonly value: number;
  readonly ratio: number;
  /** Slowest function against itself with a factor of 1. */
  readonly worst: number;
}

export interface MarketRow {
  readonly name: string;
  /** Late activations, all mixes together, and in each. */
  readonly late: Interval;
  readonly lateByMix: readonly number[];
  readonly lateWithStart: Interval;
  /** Late activations against `gittins`, and against the best static factors. */
  readonly againstGittins: Interval | null;
  readonly againstStatic: Interval | null;
  /** The same against `deadline-first`, and with start. */
  readonly againstDeadline: Interval | null;
  readonly startAgainstDeadline: Interval | null;
  readonly meanSlowdown: Interval;
  readonly p99Slowdown: Interval;
  /** The function that is slowest against itself, mean over seeds. */
  readonly worstAgainstFixed: number;
  readonly worstAgainstGittins: number;
}

export interface MarketStudy {
  readonly tuned: readonly Tuned[];
  readonly rows: readonly MarketRow[];
  readonly mixes: readonly {
    readonly name: string;
    readonly functions: number;
    readonly loads: readonly number[];
    readonly activations: number;
    readonly offeredLoad: number;
  }[];
  readonly trainingSeeds: readonly number[];
  readonly seeds: readonly number[];
}

const FIXED = "OpenWhisk's weights";
export const GITTINS = 'gittins';
export const STATIC = 'best static factors';
const PHASED = 'best factors per phase';
export const DEADLINE = 'deadline-first';
const MARKET_NAME = 'slo-market';

/** Values that tuning tries, by rule. */
const GRIDS: Readonly<Record<string, readonly [readonly number[], (value: number) => Arm]>> = {
  'same factor for all': [FACTORS, (value) => ({ name: '', manager: plan(() => () => value) })],
  'slack rule, beta': [
    [0.5, 1, 2],
    (value) => ({ name: '', manager: plan((workload) => slackPlan(workload, value)) }),
  ],
  'deadline-first, danger': [
    [4, 8, 16],
    (value) => ({ name: '', policy: 'deadline-first', danger: value }),
  ],
  'slo-market, exponent': [
    [0.5, 0.75, 1],
    (value) => ({ name: '', manager: market({ exponent: value }) }),
  ],
  'slo-market, fixed price': [
    [0.03, 0.1, 0.3],
    (value) => ({ name: '', manager: market({ price: value }), meanField: false }),
  ],
};

/** All arms on the same activations. The same request, the same figures. */
export function marketStudy(request: MarketRequest): MarketStudy {
  const { built, heldOut, trainingSeeds, seeds, search, onRun } = request;
  const perMix = search ? FUNCTIONS * (FACTORS.length - 1) * trainingSeeds.length : 0;
  const values = Object.values(GRIDS).reduce((sum, [grid]) => sum + grid.length, 1);
  const all =
    built.length * trainingSeeds.length * values +
    heldOut.length * (perMix + seeds.length * (ARMS + (search ? 2 : 0)));
  let done = 0;
  const run = (mix: MarketMix, workload: Workload, arm: Arm, seed: number): MarketRun => {
    const result = runArm(mix, workload, arm, seed);
    onRun?.(Math.min(++done, all), all);
    return result;
  };
  const tuned = tune(built, trainingSeeds, run);
  const mixes = heldOut.map((mix) => {
    const workload = mixWorkload(mix);
    const searched = search ? searchedArms(mix, workload, trainingSeeds, run) : [];
    const arms = [...comparedArms(tuned), ...searched];
    const runs = new Map(
      arms.map((arm) => [arm.name, seeds.map((seed) => run(mix, workload, arm, seed))]),
    );
    return { mix, runs };
  });
  return {
    tuned,
    rows: [...mixes[0]!.runs.keys()].map((name) =>
      rowOf(
        name,
        mixes.map(({ runs }) => runs),
      ),
    ),
    mixes: mixes.map(({ mix, runs }) => {
      const first = runs.get(GITTINS)!;
      return {
        name: mix.name,
        functions: first[0]!.slowdowns.length,
        loads: mix.loads,
        activations: Math.round(mean(first.map(({ activations }) => activations))),
        offeredLoad: mean(first.map(({ offeredLoad }) => offeredLoad)),
      };
    }),
    trainingSeeds,
    seeds,
  };
}

/** Functions of a mix, and arms without those that are searched: for the progress only. */
const FUNCTIONS = 12;
const ARMS = 10;

type Runner = (mix: MarketMix, workload: Workload, arm: Arm, seed: number) => MarketRun;

function tune(built: readonly MarketMix[], seeds: readonly number[], run: Runner): Tuned[] {
  const workloads = built.map((mix) => [mix, mixWorkload(mix)] as const);
  const play = (arm: Arm): MarketRun[][] =>
    workloads.map(([mix, workload]) => seeds.map((seed) => run(mix, workload, arm, seed)));
  const neutral = play({ name: '' });
  return Object.entries(GRIDS).flatMap(([rule, [grid, arm]]) =>
    grid.map((value) => {
      const runs = play(arm(value));
      const logs = runs.map((some, i) => Math.log(lateOf(some) / lateOf(neutral[i]!)));
      return {
        rule,
        value,
        ratio: Math.exp(mean(logs)),
        worst: Math.max(...runs.map((some, i) => worstOf(some, neutral[i]!))),
      };
    }),
  );
}

const best = (tuned: readonly Tuned[], rule: string): number =>
  tuned.filter((one) => one.rule === rule).reduce((a, b) => (b.ratio < a.ratio ? b : a)).value;

/** All but the searched ones. `deadline-first` and the market have the product's constants. */
function comparedArms(tuned: readonly Tuned[]): Arm[] {
  const value = (rule: string): number => best(tuned, rule);
  const same = value('same factor for all');
  const beta = value('slack rule, beta');
  const price = value('slo-market, fixed price');
  return [
    { name: FIXED, policy: null },
    { name: GITTINS },
    { name: 'best factor for all', manager: plan(() => () => same) },
    { name: 'slack rule', manager: plan((workload) => slackPlan(workload, beta)) },
    { name: 'bandit', manager: () => banditManager() as ResourceManager },
    {
      name: 'bandit, no mean field',
      manager: () => banditManager() as ResourceManager,
      meanField: false,
    },
    { name: MARKET_NAME, manager: market() },
    { name: 'slo-market, no mean field', manager: market({ price }), meanField: false },
    { name: DEADLINE, policy: 'deadline-first' },
    { name: 'deadline-first and slo-market', manager: market(), policy: 'deadline-first' },
  ];
}

function searchedArms(
  mix: MarketMix,
  workload: Workload,
  seeds: readonly number[],
  run: Runner,
): Arm[] {
  const trial: PhaseTrial = (tried) => {
    const arm: Arm = { name: '', manager: plan(() => tried) };
    const runs = seeds.map((seed) => run(mix, workload, arm, seed).lateByPhase);
    return mix.loads.map((_, phase) => runs.reduce((sum, late) => sum + late[phase]!, 0));
  };
  const { fixed, phased } = searchPlans(workload.functions.length, mix.loads.length, trial);
  return [
    { name: STATIC, manager: plan(() => fixed) },
    { name: PHASED, manager: plan(() => phased) },
  ];
}

const lateOf = (runs: readonly MarketRun[]): number =>
  runs.reduce((sum, { late }) => sum + late, 0);

/** The largest ratio of a function's mean slowdown, over seeds, to its own in other runs. */
function worstOf(runs: readonly MarketRun[], others: readonly MarketRun[]): number {
  const slowdownOf = (of: readonly MarketRun[], fn: number): number =>
    mean(of.map(({ slowdowns }) => slowdowns[fn]!));
  return Math.max(
    ...runs[0]!.slowdowns.map((_, fn) => slowdownOf(runs, fn) / slowdownOf(others, fn)),
  );
}

function rowOf(
  name: string,
  mixes: readonly ReadonlyMap<string, readonly MarketRun[]>[],
): MarketRow {
  const of = (arm: string): (readonly MarketRun[])[] => mixes.map((runs) => runs.get(arm)!);
  const own = of(name);
  /** By seed, over all mixes. */
  const shares = (
    runs: readonly (readonly MarketRun[])[],
    figure: 'late' | 'lateWithStart' = 'late',
  ): number[] =>
    runs[0]!.map((_, seed) => {
      const some = runs.map((one) => one[seed]!);
      return sum(some.map((run) => run[figure])) / sum(some.map(({ activations }) => activations));
    });
  const against = (arm: string, figure: 'late' | 'lateWithStart' = 'late'): Interval | null =>
    arm === name || !mixes[0]!.has(arm)
      ? null
      : pairedWith(shares(own, figure), shares(of(arm), figure), 0).ratio;
  const overSeeds = (figure: (run: MarketRun) => number): Interval =>
    meanInterval(own[0]!.map((_, seed) => mean(own.map((runs) => figure(runs[seed]!)))));
  const worst = (arm: string): number => {
    const others = of(arm);
    return Math.max(...own.map((runs, mix) => worstOf(runs, others[mix]!)));
  };
  return {
    name,
    late: meanInterval(shares(own)),
    lateWithStart: meanInterval(shares(own, 'lateWithStart')),
    lateByMix: own.map((runs) => mean(runs.map(({ late, activations }) => late / activations))),
    againstGittins: against(GITTINS),
    againstStatic: against(STATIC),
    againstDeadline: against(DEADLINE),
    startAgainstDeadline: against(DEADLINE, 'lateWithStart'),
    meanSlowdown: overSeeds(({ meanSlowdown }) => meanSlowdown),
    p99Slowdown: overSeeds(({ p99Slowdown }) => p99Slowdown),
    worstAgainstFixed: worst(FIXED),
    worstAgainstGittins: worst(GITTINS),
  };
}
