import type { FunctionView, Inspection } from '../../broker/services/index.js';
import { comparisonOf, comparisonSums } from '../../rules/index.js';
import type { FunctionRecord } from '../control/index.js';
import {
  BOUND_CONTROL_NEEDED,
  BOUND_RUNS_NEEDED,
  isDeprioritized,
  JUDGED_ACTIVATIONS,
  meanTimeRatio,
  NO_LIMIT,
  slowerThanControl,
} from '../decision/index.js';
import type { HookParts } from './hook-parts.js';

/** Sums over the containers of one function; `limited`: those that may have other limits. */
const noSums = () => ({ count: 0, limited: 0, shares: 0, quota: 0, memory: 0, borrowed: 0 });
type ContainerSums = ReturnType<typeof noSums>;

/** Walks over all containers once: one walk per function would delay the tap. */
export function containerSums(
  { containers }: HookParts,
  functions: readonly FunctionRecord[],
): ReadonlyMap<FunctionRecord, ContainerSums> {
  const sums = new Map(functions.map((fn) => [fn, noSums()]));
  for (const container of containers.values()) {
    const { revision, handle, state } = container;
    const sum = revision === null ? undefined : sums.get(revision.fn);
    if (sum === undefined) continue;
    sum.count++;
    if (container.mayLimit) sum.limited++;
    sum.shares += handle.expected.shares;
    sum.quota += handle.expected.quota;
    sum.memory += handle.expected.memory;
    sum.borrowed += state.memoryLoan + state.memory.borrowed;
  }
  return sums;
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** Null for a function that has not run yet. */
export function functionView(
  fn: FunctionRecord,
  parts: HookParts,
  sums?: ContainerSums,
): FunctionView | null {
  const { revision } = fn;
  if (revision === null) return null;
  const { state } = revision;
  const { decider, clock } = parts;
  const { used, error, ownError } = state.cpuByPayload;
  const payload = { used, error, ownError };
  const { newest } = fn.explanations;
  const mean = (of: 'shares' | 'quota' | 'memory', otherwise: number): number =>
    sums === undefined || sums.count === 0 ? otherwise : sums[of] / sums.count;
  const { target, latency } = fn;
  const limited = fn.enforced && (sums === undefined || sums.count === 0 || sums.limited > 0);
  const p99 = latency.count > 0 ? latency.quantile(0.99) : null;
  const comparison = comparisonSums([state]);
  const compared = comparisonOf(comparison);
  const tripped = newest?.trippedCpu || newest?.trippedMemory;
  return {
    name: fn.action,
    mode: fn.mode,
    paused: fn.paused,
    activations: fn.activations,
    running: fn.running,
    containers: fn.containers,
    cpuMode: fn.cpuMode,
    userCpu: fn.userCpu,
    userMemory: state.userMemory,
    userShares: state.userShares,
    cpu:
      fn.running > 0
        ? mean('quota', 0)
        : limited
          ? (newest?.cpu.granted ?? fn.userCpu)
          : fn.userCpu,
    memory: mean('memory', newest?.memory.granted ?? state.userMemory),
    shares: mean('shares', newest?.shares ?? state.userShares),
    harvestedCpuSeconds: fn.harvested / 1000,
    harvestedMebibyteSeconds: fn.harvestedMemory / 1000,
    acceleratedCpuSeconds: fn.accelerated / 1000,
    savedSeconds: fn.saved / 1000,
    borrowedMemory: sums?.borrowed ?? 0,
    p99,
    slo: finite(decider.objectives.slo(state, decider.settings)),
    learning: {
      activations: latency.count,
      activationsNeeded: JUDGED_ACTIVATIONS,
      controlSamples: state.control.warm.count,
      // A configured SLO needs none.
      controlSamplesNeeded: state.configuredSlo > 0 ? 0 : decider.settings.controlSamples,
    },
    coldStarts: fn.coldStarts,
    initTime: fn.coldStarts > 0 ? fn.initMillis / fn.coldStarts : null,
    objective: decider.objectives.verdict(
      state,
      decider.settings,
      p99 ?? Number.NaN,
      latency.count,
    ),
    slowdown: compared.known ? compared.ratio : null,
    comparison,
    slowdownBound: {
      bound: decider.settings.slowdownBound,
      meanTimeRatio: finite(meanTimeRatio(state)),
      deprioritized: isDeprioritized(state),
      activations: state.sinceAlpha.count,
      activationsNeeded: BOUND_RUNS_NEEDED,
      // Weights decay: less than the needed weight is never shown as enough samples.
      controlSamples: Math.floor(state.control.weight),
      controlSamplesNeeded: BOUND_CONTROL_NEEDED,
    },
    slowerThanControl: slowerThanControl(state),
    safeguard: tripped ? 'tripped' : (newest?.cpu.rangeReason ?? ''),
    target:
      target.author === ''
        ? null
        : {
            author: target.author,
            fresh: target.isFresh(clock.monotonic()),
            cpu: finite(target.cpu),
            memory: finite(target.memory),
          },
    ooms: { harvest: state.oomHarvest, user: state.oomUser },
    concurrent: state.concurrency > 1,
    ...(Number.isNaN(payload.error) ? {} : { payload }),
  };
}

/** Containers of one function or of all, at most `most`. */
export function containerViews(
  parts: HookParts,
  most: number,
  action?: string,
): Inspection['containers'] {
  const all = [...parts.containers.values()];
  const chosen =
    action === undefined ? all : all.filter(({ revision }) => revision?.fn.action === action);
  return chosen.slice(0, most).map((container) => ({
    id: container.info.id,
    name: container.info.name,
    address: container.info.address,
    function: container.revision?.fn.action ?? null,
    version: container.revision?.version ?? null,
    phase: container.phase,
    running: container.running,
    activations: container.activations,
    user: container.info.user,
    limits: { ...container.handle.expected },
    loan: container.state.memoryLoan,
  }));
}

/** One function as metrics need it: millicores, bytes, ms; sums since the hook's start. */
export type FunctionFigures = NonNullable<ReturnType<typeof figuresOf>>;

/** One row per function that has run. Walks over all containers once. */
export function functionFigures(parts: HookParts): FunctionFigures[] {
  const rows = new Map<FunctionRecord, FunctionFigures>();
  for (const fn of parts.functions.values()) {
    const row = figuresOf(fn, parts);
    if (row !== null) rows.set(fn, row);
  }
  for (const container of parts.containers.values()) {
    const row = container.revision === null ? undefined : rows.get(container.revision.fn);
    const limit = container.handle.expected.memory;
    const user = container.info.user.memory;
    if (row === undefined || limit === NO_LIMIT || user === NO_LIMIT) continue;
    row.memoryLimit += limit;
    row.memoryHarvested += Math.max(0, user - limit);
    row.memoryBorrowed += Math.max(0, limit - user);
  }
  return [...rows.values()];
}

function figuresOf(fn: FunctionRecord, { decider }: HookParts) {
  if (fn.revision === null) return null;
  const { state } = fn.revision;
  const compared = comparisonOf(comparisonSums([state]));
  return {
    action: fn.action,
    mode: fn.mode,
    paused: fn.paused,
    activations: fn.activations,
    running: fn.running,
    containers: fn.containers,
    /** Sum of the memory limits of its containers; containers without a limit count as 0. */
    memoryLimit: 0,
    /** Amounts by which these limits are below and above the users'. */
    memoryHarvested: 0,
    memoryBorrowed: 0,
    /** CPU-ms below and above the user's quota, and the estimated ms saved. */
    harvestedCpu: fn.harvested,
    acceleratedCpu: fn.accelerated,
    saved: fn.saved,
    /** NaN while unknown; the slowdown below 20 control samples, the mean-time ratio below 10. */
    p99: fn.latency.count > 0 ? fn.latency.quantile(0.99) : Number.NaN,
    slo: decider.objectives.slo(state, decider.settings),
    slowdown: compared.known ? compared.ratio : Number.NaN,
    meanTimeRatio: meanTimeRatio(state),
    slowerThanControl: slowerThanControl(state),
    /** The next activation runs at user limits after a spike, a failure or an OOM kill. */
    safeguarded: state.cpuSpiked || state.memorySpiked || state.lastFailed || state.oomHold > 0,
  };
}
