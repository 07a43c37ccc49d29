import type { ResourceManager } from '../../agents/index.js';
import { createManager } from '../../agents/managers/index.js';
import { type Bytes, defaultConfig, MIB, type Millicores } from '../../config/index.js';
import {
  type ClusterMode,
  DEFAULT_CONTROL,
  simulateCluster,
} from '../../simulator/engine/index.js';
import { WorkloadStream } from '../../simulator/workload/index.js';
import { type Interval, meanInterval, median, quantileOf } from '../statistics.js';
import { NewFunctionActivationLog } from './activation-log.js';
import { constantManager } from './constant.js';
import { NEW_FUNCTIONS, newFunctionWorkload } from './new-function.js';
import { type PhaseLog, TwoManagers } from './two-managers.js';

/**
 * What manages the new function: no Gleaner on the host at all, the fallback of `aware` alone, its
 * life cycle, and the best constant.
 */
const NEW_FUNCTION_CONTENDERS = ['do-nothing', 'fallback', 'aware', 'constant'] as const;
type NewFunctionContender = (typeof NEW_FUNCTION_CONTENDERS)[number];

export interface NewFunctionRequest {
  readonly seeds: readonly number[];
  readonly modes: readonly ClusterMode[];
  /** Minutes until the new function comes, and from then on. */
  readonly before: number;
  readonly after: number;
  readonly load: number;
  readonly onRun?: (done: number, all: number) => void;
}

/** The new function's activations of one run in the learning time of its seed. */
interface NewFunctionFigures {
  /** Failed activations count as ones that took their whole time limit. */
  readonly p99: number;
  readonly failures: number;
}

export interface NewFunctionRun {
  readonly mode: ClusterMode;
  readonly seed: number;
  readonly newFunction: string;
  readonly activations: number;
  /** Minutes from its first activation until `aware` served; all of them if it never did. */
  readonly learning: number;
  readonly served: boolean;
  readonly phases: Readonly<Record<string, number>>;
  readonly changes: readonly string[];
  readonly figures: Readonly<Record<NewFunctionContender, NewFunctionFigures>>;
  /** p99 after learning; null: it learned to the end. */
  readonly afterwards: { readonly aware: number; readonly doNothing: number } | null;
}

export const NEW_FUNCTION_SHAPE = {
  hosts: 1,
  cores: 4,
  memoryMiB: 16_384,
  userMemoryMiB: 12_288,
} as const;
const CAP = {
  cpu: DEFAULT_CONTROL.capMillicores as Millicores,
  memory: (DEFAULT_CONTROL.capMiB * MIB) as Bytes,
};
/** Fewer activations say nothing of a p99. */
const ENOUGH = 1000;

function managerOf(name: NewFunctionContender, seed: number): ResourceManager {
  if (name === 'constant') return constantManager();
  const managed = name === 'do-nothing' || name === 'fallback' ? 'fixed' : name;
  return createManager(managed, { cap: CAP, seed });
}

interface Played {
  readonly activations: NewFunctionActivationLog;
  readonly log: PhaseLog;
}

/** All runs. The same request, the same figures. */
export function newFunctionStudy(request: NewFunctionRequest): NewFunctionRun[] {
  const { seeds, modes, onRun } = request;
  const all = modes.length * seeds.length * NEW_FUNCTION_CONTENDERS.length;
  let done = 0;
  return modes.flatMap((mode) =>
    seeds.map((seed) => {
      const newFunction = NEW_FUNCTIONS[(seed - 1) % NEW_FUNCTIONS.length]!;
      const about = { mode, seed, newFunction };
      const played = NEW_FUNCTION_CONTENDERS.map((name) => {
        const run = runNewFunction(request, { ...about, name });
        onRun?.(++done, all);
        return [name, run] as const;
      });
      return judged(
        request,
        about,
        Object.fromEntries(played) as Record<NewFunctionContender, Played>,
      );
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
  }: Pick<NewFunctionRun, 'mode' | 'seed' | 'newFunction'> & { name: NewFunctionContender },
): Played {
  const { cores } = NEW_FUNCTION_SHAPE;
  const workload = newFunctionWorkload({ newFunction, before, after, load, cores });
  const fn = workload.functions.findIndex((one) => one.name === newFunction);
  const activations = new NewFunctionActivationLog(fn, workload.functions[fn]!.timeoutMs);
  const manager = new TwoManagers(newFunction, managerOf(name, seed), managerOf('fallback', seed));
  simulateCluster({
    activations: new WorkloadStream(workload, { seed }),
    cluster: NEW_FUNCTION_SHAPE,
    mode,
    manager,
    // Targets reach a quota only through this policy; weights have an installation's default.
    quotaPolicy: 'target',
    weightPolicy: defaultConfig.decision.policy.weight,
    safeguard: name !== 'do-nothing',
    seed,
    recorder: activations,
  });
  return { activations, log: manager.log };
}

function judged(
  { before, after }: NewFunctionRequest,
  about: Pick<NewFunctionRun, 'mode' | 'seed' | 'newFunction'>,
  played: Readonly<Record<NewFunctionContender, Played>>,
): NewFunctionRun {
  const from = before * 60_000;
  const end = from + after * 60_000;
  const { activations, log } = played.aware;
  const { changes, decisions } = log;
  const served = changes.find(({ change }) => change.to === 'serving');
  const to = served?.at ?? end;
  const p99Of = (run: Played, since: number, until: number): number =>
    quantileOf(run.activations.slowdownsBetween(since, until), 0.99);
  return {
    ...about,
    activations: activations.slowdownsBetween(from, to).length,
    learning: (to - from) / 60_000,
    served: served !== undefined,
    phases: decisions,
    changes: changes.map(({ change }) => `${change.from} → ${change.to}`),
    figures: Object.fromEntries(
      NEW_FUNCTION_CONTENDERS.map((name) => [
        name,
        {
          p99: p99Of(played[name], from, to),
          failures: played[name].activations.failures(from, to),
        },
      ]),
    ) as NewFunctionRun['figures'],
    afterwards:
      activations.slowdownsBetween(to, end).length < ENOUGH
        ? null
        : { aware: p99Of(played.aware, to, end), doNothing: p99Of(played['do-nothing'], to, end) },
  };
}

/** p99 slowdown that `aware` may lie above doing nothing. */
export const ALLOWED = 0.05;

interface NewFunctionRow {
  readonly contender: NewFunctionContender;
  readonly p99: Interval;
  readonly median: number;
  /** Less that of doing nothing on the same activations. */
  readonly difference: Interval;
  /** Seeds with a difference that is allowed. */
  readonly within: number;
  readonly failures: number;
}

export interface NewFunctionTable {
  readonly mode: ClusterMode;
  readonly runs: number;
  readonly rows: readonly NewFunctionRow[];
}

/** One table for each mode. */
export function newFunctionTables(runs: readonly NewFunctionRun[]): NewFunctionTable[] {
  return [...new Set(runs.map(({ mode }) => mode))].map((mode) => {
    const inMode = runs.filter((run) => run.mode === mode);
    return {
      mode,
      runs: inMode.length,
      rows: NEW_FUNCTION_CONTENDERS.map((contender): NewFunctionRow => {
        const figures = inMode.map((run) => run.figures[contender]);
        const p99s = figures.map(({ p99 }) => p99);
        const differences = p99s.map((p99, i) => p99 - inMode[i]!.figures['do-nothing'].p99);
        return {
          contender,
          p99: meanInterval(p99s),
          median: median(p99s),
          difference: meanInterval(differences),
          within: differences.filter((one) => one <= ALLOWED).length,
          failures: figures.reduce((sum, { failures }) => sum + failures, 0),
        };
      }),
    };
  });
}
