import { fixedManager } from '../../agents/managers/index.js';
import type { SizingRules } from '../../openwhisk-plugin/openwhisk-api/index.js';
import { type RunSummary, simulateCluster } from '../../simulator/engine/index.js';
import { activationStream, openWorkload } from '../../simulator/workload/index.js';
import { withDefaultSizes } from '../compare/index.js';
import { type Interval, mean, meanInterval, type Paired, pairedWith, sum } from '../statistics.js';
import { type StagedCounts, StagedSizes } from './staged-sizes.js';

const MINUTE = 60_000;
const SEEN_LEAST = 10 * MINUTE;
const HOUR = 60 * MINUTE;
/** Changes all actions at once, without canaries. */
const ALL = 1_000_000;

/** How sizes are written; null: not at all. */
export interface SizingArm {
  readonly name: string;
  readonly about: string;
  readonly rules: SizingRules | null;
}

const rules = (
  leastActivations: number,
  canaries: number,
  watchMinutes: number,
  watchActivations: number,
): SizingRules => ({
  rule: 'margin',
  leastActivations,
  leastSeen: SEEN_LEAST,
  canaries,
  watchTime: watchMinutes * MINUTE,
  watchActivations,
  payBack: 24 * HOUR,
  killedSizeHoldTime: 24 * HOUR,
  holdTime: 10 * MINUTE,
});

export const SIZING_ARMS: readonly SizingArm[] = [
  { name: 'as users set it', about: 'nothing is changed', rules: null },
  {
    name: 'after 200 activations',
    about: 'all that are ready, at once at minute 30',
    rules: rules(200, ALL, 0, 0),
  },
  { name: 'after 50 activations', about: 'the same', rules: rules(50, ALL, 0, 0) },
  { name: 'after 10 activations', about: 'the same', rules: rules(10, ALL, 0, 0) },
  {
    name: 'after 10 activations, in waves',
    about: 'three canaries, each watched for two minutes and five activations',
    rules: rules(10, 3, 2, 5),
  },
];

export interface SizingStudyRequest {
  readonly seeds: readonly number[];
  readonly hosts: number;
  readonly cores: number;
  readonly memoryMiB: number;
  /** User-memory per host of each section. */
  readonly userMemoryMiB: readonly number[];
  readonly functions?: number;
  /** Offered load; that of the sample as recorded is .25. */
  readonly load: number;
  readonly onRun?: (done: number, all: number) => void;
}

/** Figures of the held-out half hour. */
export const SIZING_FIGURES = {
  cold: 'cold starts',
  coldShare: 'share of activations',
  p99: 'response p99, ms',
  mean: 'response mean, ms',
  oom: 'OOM kills',
} as const;
export type SizingFigure = keyof typeof SIZING_FIGURES;

export interface SizingRow {
  readonly userMemoryMiB: number;
  readonly arm: SizingArm;
  readonly activations: number;
  readonly figures: Readonly<Record<SizingFigure, Interval>>;
  /** Against nothing changed, seed by seed; null: that is this one. */
  readonly paired: Readonly<Record<SizingFigure, Paired>> | null;
  /** OOM kills of all seeds together. */
  readonly ooms: number;
  readonly changes: Interval;
  readonly costs: Interval;
  readonly freedMiB: Interval;
  readonly undone: Interval;
  /** Cold starts in half an hour that the estimate promised to save; null: none was made. */
  readonly promised: Interval | null;
}

interface SizingRun {
  readonly figures: Readonly<Record<SizingFigure, number>>;
  readonly activations: number;
  readonly counts: StagedCounts;
}

/**
 * Every arm on the same activations, by seed and by memory of the hosts. The same request, the same
 * rows.
 */
export function sizingStudy(request: SizingStudyRequest): SizingRow[] {
  const { seeds, userMemoryMiB, onRun } = request;
  const all = seeds.length * userMemoryMiB.length * SIZING_ARMS.length;
  const runs = new Map<string, SizingRun[]>();
  let done = 0;
  for (const seed of seeds) {
    const { hosts, cores, functions, load } = request;
    const loaded = openWorkload('azure-sample', {
      functions,
      seed,
      load: { load, cores: hosts * cores },
    });
    const phases = loaded.phases.map(withDefaultSizes);
    for (const memory of userMemoryMiB)
      for (const arm of SIZING_ARMS) {
        const key = keyOf(memory, arm);
        const run = runArm(
          arm,
          request,
          memory,
          activationStream({ ...loaded, phases }, { seed }),
          seed,
        );
        runs.set(key, [...(runs.get(key) ?? []), run]);
        onRun?.(++done, all);
      }
  }
  return userMemoryMiB.flatMap((memory) => SIZING_ARMS.map((arm) => rowOf(memory, arm, runs)));
}

const keyOf = (memory: number, { name }: SizingArm): string => `${memory} ${name}`;

function runArm(
  { rules: own }: SizingArm,
  { hosts, cores, memoryMiB }: SizingStudyRequest,
  userMemoryMiB: number,
  activations: ReturnType<typeof activationStream>,
  seed: number,
): SizingRun {
  // The recording's half, whatever its gaps were stretched to.
  const from = activations.spanMicros / 2000;
  const manager = own === null ? null : new StagedSizes({ rules: own, from });
  const run = simulateCluster({
    activations,
    cluster: { hosts, cores, memoryMiB: Math.max(memoryMiB, userMemoryMiB), userMemoryMiB },
    mode: 'weight',
    manager: manager ?? fixedManager(),
    safeguard: true,
    weightPolicy: 'short-first',
    seed,
    warmUpMs: from,
  });
  const counts = manager?.counts ?? {
    changes: 0,
    costs: 0,
    kept: 0,
    undone: 0,
    freedMiB: 0,
    promised: null,
  };
  return { figures: figuresOf(run), activations: run.activations, counts };
}

function figuresOf({ starts, coldShare, responseMs, oomKills }: RunSummary): SizingRun['figures'] {
  return {
    cold: starts.cold,
    coldShare,
    p99: responseMs.p99,
    mean: responseMs.mean,
    oom: oomKills,
  };
}

function rowOf(
  userMemoryMiB: number,
  arm: SizingArm,
  runs: ReadonlyMap<string, readonly SizingRun[]>,
): SizingRow {
  const own = runs.get(keyOf(userMemoryMiB, arm))!;
  const base = runs.get(keyOf(userMemoryMiB, SIZING_ARMS[0]!))!;
  const of = (list: readonly SizingRun[], figure: SizingFigure): number[] =>
    list.map(({ figures }) => figures[figure]);
  const each = <T>(make: (figure: SizingFigure) => T): Record<SizingFigure, T> =>
    Object.fromEntries(
      Object.keys(SIZING_FIGURES).map((key) => [key, make(key as SizingFigure)]),
    ) as Record<SizingFigure, T>;
  const count = (key: 'changes' | 'costs' | 'freedMiB' | 'undone'): Interval =>
    meanInterval(own.map(({ counts }) => counts[key]));
  const promised = own.flatMap(({ counts }) =>
    counts.promised === null ? [] : [counts.promised / 2],
  );
  return {
    userMemoryMiB,
    arm,
    activations: mean(own.map(({ activations }) => activations)),
    figures: each((figure) => meanInterval(of(own, figure))),
    paired:
      arm.rules === null
        ? null
        : each((figure) => pairedWith(of(own, figure), of(base, figure), 0.5)),
    ooms: sum(of(own, 'oom')),
    changes: count('changes'),
    costs: count('costs'),
    freedMiB: count('freedMiB'),
    undone: count('undone'),
    promised: promised.length === 0 ? null : meanInterval(promised),
  };
}
