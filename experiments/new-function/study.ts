import type { ResourceManager } from '../../agents/index.js';
import { createManager } from '../../agents/managers/index.js';
import { createSimppo } from '../../agents/simppo/index.js';
import { type Bytes, MIB, type Millicores } from '../../config/index.js';
import {
  type ClusterMode,
  DEFAULT_CONTROL,
  simulateCluster,
} from '../../simulator/engine/index.js';
import { WorkloadStream } from '../../simulator/workload/index.js';
import { bootstrapMean, type Interval, meanOf, quantileOf } from '../compare/index.js';
import { NEW_FUNCTIONS, newFunctionWorkload } from './new-function.js';
import { NewFunctionActivationLog } from './new-function-activation-log.js';
import { type PhaseLog, TwoManagers } from './two-managers.js';

/**
 * Who manages the new function: the fallback alone, AWARE's life cycle, SIMPPO as it is shipped,
 * and SIMPPO that learns from the first call on.
 */
const NEW_FUNCTION_CONTENDERS = ['fallback', 'aware', 'simppo', 'simppo-online'] as const;
type NewFunctionContender = (typeof NEW_FUNCTION_CONTENDERS)[number];

export interface NewFunctionRequest {
  readonly seeds: readonly number[];
  readonly modes: readonly ClusterMode[];
  /** Minutes until the new function comes, and from then on. */
  readonly before: number;
  readonly after: number;
  readonly load: number;
  /** Runs of the fallback with the same calls and other placements and draws: its own spread. */
  readonly repeats: number;
  readonly onRun?: (done: number, all: number) => void;
}

/** How the new function fared in one run over the learning time of its seed. */
interface NewFunctionFigures {
  readonly p99: number;
  readonly mean: number;
  readonly failures: number;
}

export interface NewFunctionRun {
  readonly mode: ClusterMode;
  readonly seed: number;
  readonly newFunction: string;
  readonly calls: number;
  /** Minutes from its first call until it served; all of them where it never did. */
  readonly learning: number;
  readonly served: boolean;
  readonly phases: Readonly<Record<string, number>>;
  readonly changes: readonly string[];
  readonly fallback: readonly NewFunctionFigures[];
  readonly others: Readonly<Record<Exclude<NewFunctionContender, 'fallback'>, NewFunctionFigures>>;
  /** p99 after learning, of `aware` and the fallback; null: it learned to the end. */
  readonly afterwards: { readonly aware: number; readonly fallback: number } | null;
}

const SHAPE = { hosts: 1, cores: 4, memoryMiB: 16_384, userMemoryMiB: 12_288 } as const;
const CAP = {
  cpu: DEFAULT_CONTROL.capMillicores as Millicores,
  memory: (DEFAULT_CONTROL.capMiB * MIB) as Bytes,
};
/** Seeds of other draws lie apart from all that are played. */
const REDRAWN = 1_000_000;
/** Fewer calls say nothing of a p99. */
const ENOUGH = 1000;

export const NEW_FUNCTION_SHAPE = SHAPE;

function managerOf(name: NewFunctionContender, seed: number): ResourceManager {
  if (name === 'fallback') return createManager('hpa-vpa', { cap: CAP });
  if (name === 'simppo-online')
    return createSimppo('simppo', {
      cap: CAP,
      seed,
      settings: { begin: 'online', ownRate: 0 },
    }) as unknown as ResourceManager;
  return createManager(name, { cap: CAP, seed });
}

interface Played {
  readonly calls: NewFunctionActivationLog;
  readonly log: PhaseLog;
}

/** All runs. The same request, the same figures. */
export function newFunctionStudy(request: NewFunctionRequest): NewFunctionRun[] {
  const { seeds, modes, repeats, onRun } = request;
  const perSeed = repeats + NEW_FUNCTION_CONTENDERS.length - 1;
  const all = modes.length * seeds.length * perSeed;
  let done = 0;
  return modes.flatMap((mode) =>
    seeds.map((seed) => {
      const newFunction = NEW_FUNCTIONS[(seed - 1) % NEW_FUNCTIONS.length]!;
      const play = (name: NewFunctionContender, repeat = 0): Played => {
        const played = runNewFunction(request, { mode, seed, newFunction, name, repeat });
        onRun?.(++done, all);
        return played;
      };
      return judged(request, { mode, seed, newFunction }, play);
    }),
  );
}

function runNewFunction(
  { before, after, load }: NewFunctionRequest,
  {
    mode,
    seed,
    newFunction,
    name,
    repeat,
  }: {
    readonly mode: ClusterMode;
    readonly seed: number;
    readonly newFunction: string;
    readonly name: NewFunctionContender;
    readonly repeat: number;
  },
): Played {
  const workload = newFunctionWorkload({ newFunction, before, after, load, cores: SHAPE.cores });
  const calls = new NewFunctionActivationLog(
    workload.functions.findIndex((fn) => fn.name === newFunction),
  );
  const manager = new TwoManagers(newFunction, managerOf(name, seed), managerOf('fallback', seed));
  simulateCluster({
    calls: new WorkloadStream(workload, { seed }),
    cluster: SHAPE,
    mode,
    manager,
    quotaPolicy: 'target',
    weightPolicy: 'short-first',
    seed: seed + repeat * REDRAWN,
    recorder: calls,
  });
  return { calls, log: manager.log };
}

function judged(
  { before, after, repeats }: NewFunctionRequest,
  about: Pick<NewFunctionRun, 'mode' | 'seed' | 'newFunction'>,
  play: (name: NewFunctionContender, repeat?: number) => Played,
): NewFunctionRun {
  const from = before * 60_000;
  const end = from + after * 60_000;
  const aware = play('aware');
  const { changes, decisions } = aware.log;
  const served = changes.find(({ change }) => change.to === 'serving');
  const to = served?.at ?? end;
  const figuresOf = ({ calls }: Played): NewFunctionFigures => {
    const slowdowns = calls.between(from, to);
    const successes = slowdowns.filter(Number.isFinite);
    return {
      p99: quantileOf(successes, 0.99),
      mean: meanOf(successes),
      failures: slowdowns.length - successes.length,
    };
  };
  const fallbacks = Array.from({ length: repeats }, (_, repeat) => play('fallback', repeat));
  const later = aware.calls.between(to, end);
  return {
    ...about,
    calls: aware.calls.between(from, to).length,
    learning: (to - from) / 60_000,
    served: served !== undefined,
    phases: decisions,
    changes: changes.map(({ change }) => `${change.from} → ${change.to}`),
    fallback: fallbacks.map(figuresOf),
    others: {
      aware: figuresOf(aware),
      simppo: figuresOf(play('simppo')),
      'simppo-online': figuresOf(play('simppo-online')),
    },
    afterwards:
      later.length < ENOUGH
        ? null
        : {
            aware: quantileOf(later, 0.99),
            fallback: quantileOf(fallbacks[0]!.calls.between(to, end), 0.99),
          },
  };
}

/** Slowdown that may lie above the fallback's own spread (issue: .05). */
export const ALLOWED = 0.05;

interface NewFunctionRow {
  readonly contender: Exclude<NewFunctionContender, 'fallback'>;
  readonly p99: Interval;
  /** Against the fallback with the same calls and draws. */
  readonly difference: Interval;
  /** Against the highest of the fallback's runs of the same calls: above .05 is missed. */
  readonly aboveSpread: Interval;
  /** Runs that stay within, of all. */
  readonly within: number;
  readonly failures: number;
}

export interface NewFunctionTable {
  readonly mode: ClusterMode;
  readonly fallback: {
    readonly p99: Interval;
    readonly spread: Interval;
    readonly failures: number;
  };
  readonly runs: number;
  readonly rows: readonly NewFunctionRow[];
}

/** One table for each mode. */
export function newFunctionTables(runs: readonly NewFunctionRun[]): NewFunctionTable[] {
  return [...new Set(runs.map(({ mode }) => mode))].map((mode) => {
    const inMode = runs.filter((run) => run.mode === mode);
    const highest = inMode.map(({ fallback }) => Math.max(...fallback.map(({ p99 }) => p99)));
    const lowest = inMode.map(({ fallback }) => Math.min(...fallback.map(({ p99 }) => p99)));
    const rows = (['aware', 'simppo', 'simppo-online'] as const).map(
      (contender): NewFunctionRow => {
        const p99s = inMode.map(({ others }) => others[contender].p99);
        const above = p99s.map((p99, i) => p99 - highest[i]!);
        return {
          contender,
          p99: bootstrapMean(p99s),
          difference: bootstrapMean(p99s.map((p99, i) => p99 - inMode[i]!.fallback[0]!.p99)),
          aboveSpread: bootstrapMean(above),
          within: above.filter((one) => one <= ALLOWED).length,
          failures: inMode.reduce((sum, { others }) => sum + others[contender].failures, 0),
        };
      },
    );
    return {
      mode,
      fallback: {
        p99: bootstrapMean(inMode.map(({ fallback }) => fallback[0]!.p99)),
        spread: bootstrapMean(highest.map((one, i) => one - lowest[i]!)),
        failures: inMode.reduce((sum, { fallback }) => sum + fallback[0]!.failures, 0),
      },
      runs: inMode.length,
      rows,
    };
  });
}
