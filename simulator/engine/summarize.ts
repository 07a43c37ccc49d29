import type { BuiltCluster } from './build.js';
import { StartKind } from './recorder.js';
import type { FunctionSummary, HarvestTotals, RunSummary } from './summary.js';

const NOTHING_HARVESTED: HarvestTotals = {
  harvestedCoreSeconds: 0,
  acceleratedCoreSeconds: 0,
  borrowedCoreSeconds: 0,
  demandCoreSeconds: 0,
  savedSeconds: 0,
  harvestedShare: 0,
  acceleratedShare: 0,
  borrowedShare: 0,
  trips: 0,
  control: 0,
  revoked: 0,
};

/** Summary of a finished run. */
export function summarize({ cluster, limitController, names }: BuiltCluster): RunSummary {
  const { accounts, levels, functions, parts } = cluster;
  const { outcomeStatistics } = accounts;
  const { shape, activations } = parts;
  const cores = shape.hosts * shape.cores;
  const span = Math.max(1, activations.spanMicros);
  const perFunction = functions.specs.map((spec, fn) =>
    outcomeStatistics.functionSummary(fn, spec.name, spec.sloMs),
  );
  const [warm = 0, prewarmed = 0, cold = 0] = outcomeStatistics.starts;
  const [success = 0, timeout = 0, outOfMemory = 0, lost = 0, rejected = 0] =
    outcomeStatistics.outcomes;
  const started = warm + prewarmed + cold;
  const judged = perFunction.filter(
    (fn, index) => outcomeStatistics.isKnown(index) && fn.sloMs !== null,
  );
  return {
    ...names,
    mode: parts.mode,
    safeguard: limitController !== null,
    seed: parts.seed,
    hosts: shape.hosts,
    cores: shape.cores,
    userMemoryMiB: shape.userMemoryMiB,
    functions: functions.count,
    spanMs: activations.spanMicros / 1000,
    endedAtMs: cluster.now / 1000,
    offeredLoad: accounts.asked / (span * cores),
    utilization: levels.total / (span * cores),
    activations: outcomeStatistics.activations,
    outcomes: { success, timeout, outOfMemory, lost, rejected },
    slowdown: outcomeStatistics.slowdown.summary(),
    rfet: outcomeStatistics.rfet.summary(),
    responseMs: outcomeStatistics.response.summary(1000),
    slowShare: success > 0 ? outcomeStatistics.slow / success : 0,
    starts: { cold: outcomeStatistics.starts[StartKind.cold]!, prewarmed, warm },
    coldShare: started > 0 ? cold / started : 0,
    waited: outcomeStatistics.waited,
    waitMeanMs:
      outcomeStatistics.waited > 0
        ? outcomeStatistics.waitMicros / outcomeStatistics.waited / 1000
        : 0,
    oomKills: outOfMemory,
    harvest:
      limitController === null
        ? NOTHING_HARVESTED
        : limitController.counts.totals(limitController.hosts),
    worst: worstOf(perFunction, (index) => outcomeStatistics.isKnown(index)),
    slo: {
      functions: judged.length,
      missed: judged.filter((fn) => fn.p99Ms > fn.sloMs!).length,
      activations: judged.reduce((sum, fn) => sum + fn.activations, 0),
      late: judged.reduce((sum, fn) => sum + fn.late, 0),
    },
    perFunction,
    series: levels.summary(cores),
  };
}

function worstOf(
  functions: readonly FunctionSummary[],
  known: (index: number) => boolean,
): RunSummary['worst'] {
  const enough = functions.filter((_fn, index) => known(index));
  const candidates = enough.length > 0 ? enough : functions.filter((fn) => fn.meanSlowdown > 0);
  let worst: FunctionSummary | undefined;
  for (const fn of candidates)
    if (worst === undefined || fn.meanSlowdown > worst.meanSlowdown) worst = fn;
  return worst === undefined
    ? null
    : { name: worst.name, slowdown: worst.meanSlowdown, activations: worst.activations };
}
