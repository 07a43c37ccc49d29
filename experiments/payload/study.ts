import { simulateCluster } from '../../simulator/engine/index.js';
import { activationStream, openWorkload, PayloadStream } from '../../simulator/workload/index.js';
import { Slowdowns } from '../compare/index.js';
import { type Interval, meanInterval, type Paired, pairedWith } from '../statistics.js';

/**
 * What bodies tell: a correlation within each function, or as the workload's own profiles have it.
 */
export interface PayloadCase {
  readonly workload: 'azure-sample' | 'profiles-12';
  readonly correlation: number | null;
  readonly about: string;
}

export const PAYLOAD_CASES: readonly PayloadCase[] = [
  { workload: 'azure-sample', correlation: 0, about: 'sizes vary and say nothing' },
  {
    workload: 'azure-sample',
    correlation: 0.5,
    about: 'correlation .5: sizes explain a quarter of the variance',
  },
  { workload: 'azure-sample', correlation: 0.8, about: 'correlation .8: two thirds' },
  { workload: 'azure-sample', correlation: 0.95, about: 'correlation .95: nine tenths' },
  {
    workload: 'profiles-12',
    correlation: null,
    about: 'twelve benchmarks, each with its own law of the payload (docs/workloads.md)',
  },
];

export interface PayloadStudyRequest {
  readonly seeds: readonly number[];
  readonly loads: readonly number[];
  readonly activations: number;
  readonly functions?: number;
  readonly cases?: readonly PayloadCase[];
  readonly onRun?: (done: number, all: number) => void;
}

/** Slowdowns of waiting and running, as comparisons have them. */
export const PAYLOAD_FIGURES = {
  mean: 'mean slowdown',
  p99: 'p99 slowdown',
  slow: 'slower than 1.2 x alone',
} as const;
export type PayloadFigure = keyof typeof PAYLOAD_FIGURES;

export interface PayloadRow {
  readonly case: PayloadCase;
  readonly load: number;
  /**
   * `short-first` by functions' means alone, and by each activation's size where that errs less.
   */
  readonly blind: Readonly<Record<PayloadFigure, Interval>>;
  readonly aware: Readonly<Record<PayloadFigure, Interval>>;
  readonly paired: Readonly<Record<PayloadFigure, Paired>>;
}

/** Hosts of eight cores with ample memory, so that CPU is what activations compete for. */
const SHAPE = { cores: 8, memoryMiB: 131_072, userMemoryMiB: 98_304 };
const HOSTS = { 'azure-sample': 30, 'profiles-12': 1 } as const;
const FULL = 1000;

/**
 * `short-first` with and without what sizes say, on the same activations. The same request, the
 * same rows.
 */
export function payloadStudy(request: PayloadStudyRequest): PayloadRow[] {
  const { seeds, loads, cases = PAYLOAD_CASES, onRun } = request;
  const all = cases.length * loads.length * seeds.length;
  let done = 0;
  return cases.flatMap((one) =>
    loads.map((load) => {
      const blind: Record<PayloadFigure, number>[] = [];
      const aware: Record<PayloadFigure, number>[] = [];
      for (const seed of seeds) {
        blind.push(play(one, load, seed, false, request));
        aware.push(play(one, load, seed, true, request));
        onRun?.(++done, all);
      }
      const each = <T>(make: (figure: PayloadFigure) => T): Record<PayloadFigure, T> =>
        Object.fromEntries(
          Object.keys(PAYLOAD_FIGURES).map((key) => [key, make(key as PayloadFigure)]),
        ) as Record<PayloadFigure, T>;
      const of = (runs: readonly Record<PayloadFigure, number>[], figure: PayloadFigure) =>
        runs.map((run) => run[figure]);
      return {
        case: one,
        load,
        blind: each((figure) => meanInterval(of(blind, figure))),
        aware: each((figure) => meanInterval(of(aware, figure))),
        paired: each((figure) => pairedWith(of(aware, figure), of(blind, figure), 1e-3)),
      };
    }),
  );
}

function play(
  { workload, correlation }: PayloadCase,
  load: number,
  seed: number,
  payloadAware: boolean,
  { activations, functions }: PayloadStudyRequest,
): Record<PayloadFigure, number> {
  // Of fewer functions fewer hosts, so that each is as busy.
  const hosts =
    workload === 'azure-sample'
      ? Math.max(1, Math.round((HOSTS[workload] * (functions ?? FULL)) / FULL))
      : 1;
  const loaded = openWorkload(workload, {
    functions: workload === 'azure-sample' ? functions : undefined,
    seed,
    load: { load, cores: hosts * SHAPE.cores },
  });
  const stream = activationStream(loaded, { seed, activations });
  const slowdowns = new Slowdowns(stream.functions.length);
  simulateCluster({
    activations: correlation === null ? stream : new PayloadStream(stream, correlation, seed),
    cluster: { ...SHAPE, hosts },
    mode: 'weight',
    manager: 'fixed',
    safeguard: true,
    weightPolicy: 'short-first',
    decision: { payloadAware },
    seed,
    recorder: slowdowns,
  });
  const { service } = slowdowns;
  return { mean: service.mean, p99: service.quantile(0.99), slow: service.slowShare };
}
