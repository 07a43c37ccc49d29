import type { FunctionView, Inspection } from '../../broker/services/index.js';
import { comparisonOf, comparisonSums } from '../../config/index.js';
import type { FunctionRecord } from '../control/index.js';
import { JUDGED_ACTIVATIONS, slowerThanControl } from '../decision/index.js';
import type { HookParts } from './hook-parts.js';

/** Sums over the containers of one function. */
export interface ContainerSums {
  count: number;
  /** Containers that may have limits other than the user's. */
  limited: number;
  shares: number;
  quota: number;
  memory: number;
  borrowed: number;
}

/** Walks over all containers once: one walk per function would delay the tap. */
export function containerSums(
  { containers }: HookParts,
  functions: readonly FunctionRecord[],
): ReadonlyMap<FunctionRecord, ContainerSums> {
  const sums = new Map<FunctionRecord, ContainerSums>();
  for (const fn of functions)
    sums.set(fn, { count: 0, limited: 0, shares: 0, quota: 0, memory: 0, borrowed: 0 });
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
    harvestedCpuSeconds: state.harvested / 1000,
    harvestedMebibyteSeconds: state.harvestedMemory / 1000,
    acceleratedCpuSeconds: state.accelerated / 1000,
    savedSeconds: state.saved / 1000,
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
    concurrent: revision.concurrent,
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
