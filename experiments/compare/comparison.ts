import type { Series } from '../../simulator/engine/index.js';
import type { DataIssue } from '../../simulator/workload/index.js';
import {
  type Interval,
  mean,
  meanInterval,
  type Paired,
  pairedWith,
  quantileOf,
} from '../statistics.js';
import { FIXED } from './contenders.js';
import type { Job, JobResult } from './job.js';
import { METRICS } from './metrics.js';
import type { SectionPlan } from './plan.js';
import type { Setting } from './setting.js';
import { SLOWDOWN_EDGES, shareAbove } from './slowdowns.js';
import { FunctionTotals, type Victims } from './victims.js';

/**
 * Everything that a comparison found; plain JSON, the same bytes for the same request, however many
 * workers there were.
 */
export interface Comparison {
  readonly version: 1;
  /** The command that makes it again. */
  readonly command: string;
  readonly gleaner: string;
  readonly seeds: readonly number[];
  readonly metrics: readonly MetricInfo[];
  readonly slowdownEdges: readonly number[];
  readonly sections: readonly Section[];
}

export interface MetricInfo {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
  readonly better: 'lower' | 'higher' | null;
}

export interface Section {
  readonly kind: 'load' | 'density';
  readonly setting: Setting;
  /** Mean over seeds of what `fixed` met. */
  readonly offeredLoad: number;
  readonly functions: number;
  readonly activations: number;
  readonly spanMs: number;
  readonly scaling: string;
  /** What was odd in a recorded trace, and what was done about it. */
  readonly data: readonly DataIssue[];
  /** Mean response had no activation ever waited, shared or started cold, ms; its slowdown is 1. */
  readonly oracleMs: Interval;
  /** Contenders that were ahead of the oracle; an error of the model if there is one. */
  readonly beatOracle: readonly string[];
  /** `fixed` first. */
  readonly rows: readonly Row[];
}

export interface Row {
  readonly name: string;
  readonly manager: string;
  readonly policy: string;
  /** `fixed` with other draws. */
  readonly isNoise: boolean;
  readonly figures: Readonly<Record<string, Interval>>;
  /** Seed by seed, in the order of seeds. */
  readonly values: Readonly<Record<string, readonly number[]>>;
  /** Against `fixed` with the same seeds; absent for `fixed` itself. */
  readonly paired?: Readonly<Record<string, Paired>>;
  /**
   * Share of activations slower than each of `slowdownEdges`, seeds together: of waiting and
   * running, and of response.
   */
  readonly slowerService: readonly number[];
  readonly slowerResponse: readonly number[];
  /** p99 over objective, at every percentile of functions from 0 to 100. */
  readonly objectiveRatios: readonly number[];
  readonly victims: Victims;
  /** Mean over seeds. */
  readonly series: Series;
}

/**
 * Half a microsecond up and half a microsecond down: what whole microseconds may be ahead of real
 * numbers.
 */
const ROUNDING_MICROS = 1;
const PERCENTILES = 100;

/** Puts runs together, section by section. */
export function compareRuns(
  sections: readonly SectionPlan[],
  jobs: readonly Job[],
  results: readonly JobResult[],
  about: { readonly command: string; readonly gleaner: string; readonly seeds: readonly number[] },
): Comparison {
  return {
    version: 1,
    ...about,
    metrics: METRICS.map(({ key, title, unit, better }) => ({ key, title, unit, better })),
    slowdownEdges: SLOWDOWN_EDGES.map((edge) => Number(edge.toPrecision(6))),
    sections: sections.map((section) => compareSection(section, jobs, results)),
  };
}

function compareSection(
  plan: SectionPlan,
  jobs: readonly Job[],
  results: readonly JobResult[],
): Section {
  const runsOf = (name: string): JobResult[] =>
    jobs
      .filter(({ setting, contender }) => setting === plan.setting && contender.name === name)
      .map(({ index }) => results[index]!);
  const fixed = runsOf(FIXED.name);
  const baseline = { runs: fixed, totals: totalsOf(fixed) };
  const first = fixed[0]!;
  return {
    kind: plan.kind,
    setting: plan.setting,
    offeredLoad: mean(fixed.map(({ offeredLoad }) => offeredLoad)),
    functions: first.functions,
    activations: Math.round(mean(fixed.map(({ activations }) => activations))),
    spanMs: Math.round(mean(fixed.map(({ spanMs }) => spanMs))),
    scaling: first.scaling,
    data: first.data,
    oracleMs: meanInterval(fixed.map(({ oracleMeanMs }) => oracleMeanMs)),
    beatOracle: plan.contenders
      .map(({ name }) => name)
      .filter((name) => runsOf(name).some(isAheadOfOracle)),
    rows: plan.contenders.map(({ name, manager, quotaPolicy, weightPolicy, redrawn }) => ({
      name,
      manager,
      policy: plan.setting.mode === 'quota' ? quotaPolicy : weightPolicy,
      isNoise: redrawn !== undefined,
      ...rowOf(runsOf(name), baseline, name === FIXED.name),
    })),
  };
}

const isAheadOfOracle = ({ mostAheadMicros, figures, oracleMeanMs }: JobResult): boolean =>
  mostAheadMicros > ROUNDING_MICROS ||
  figures['response.mean']! < oracleMeanMs - ROUNDING_MICROS / 1000;

type Measured = Omit<Row, 'name' | 'manager' | 'policy' | 'isNoise'>;

function rowOf(
  runs: readonly JobResult[],
  fixed: { readonly runs: readonly JobResult[]; readonly totals: FunctionTotals },
  isFixed: boolean,
): Measured {
  const values: Record<string, number[]> = {};
  const figures: Record<string, Interval> = {};
  const paired: Record<string, Paired> = {};
  for (const { key, nearZero } of METRICS) {
    const own = runs.map((run) => run.figures[key]!);
    values[key] = own;
    figures[key] = meanInterval(own);
    if (!isFixed)
      paired[key] = pairedWith(
        own,
        fixed.runs.map((run) => run.figures[key]!),
        nearZero,
      );
  }
  const totals = totalsOf(runs);
  const ratios = totals.objectiveRatios(fixed.totals);
  return {
    figures,
    values,
    ...(isFixed ? {} : { paired }),
    slowerService: slower(runs.map(({ service }) => service)),
    slowerResponse: slower(runs.map(({ response }) => response)),
    objectiveRatios:
      ratios.length === 0
        ? []
        : Array.from({ length: PERCENTILES + 1 }, (_, i) =>
            rounded(quantileOf(ratios, i / PERCENTILES)),
          ),
    victims: totals.against(fixed.totals),
    series: meanSeries(runs.map(({ series }) => series)),
  };
}

function slower(all: readonly Float64Array[]): number[] {
  const counts = SLOWDOWN_EDGES.map((_, i) => all.reduce((sum, one) => sum + one[i]!, 0));
  return shareAbove(counts).map(rounded);
}

function totalsOf(runs: readonly JobResult[]): FunctionTotals {
  const totals = new FunctionTotals();
  for (const { perFunction } of runs) totals.add(perFunction);
  return totals;
}

const rounded = (value: number): number => Number(value.toPrecision(5));

/** Bucket by bucket; the spans of seeds differ by less than a bucket. */
function meanSeries(all: readonly Series[]): Series {
  const over = (key: Exclude<keyof Series, 'bucketMs'>): number[] =>
    (all[0]?.[key] ?? []).map((_, i) => rounded(mean(all.map((series) => series[key][i] ?? 0))));
  return {
    bucketMs: rounded(mean(all.map(({ bucketMs }) => bucketMs))),
    utilization: over('utilization'),
    harvested: over('harvested'),
    borrowed: over('borrowed'),
    demand: over('demand'),
    waiting: over('waiting'),
    running: over('running'),
    containers: over('containers'),
  };
}
