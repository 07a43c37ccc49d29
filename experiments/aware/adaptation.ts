import { shareOf } from '../../agents/aware/index.js';
import { type Interval, mean, meanInterval, ratioInterval } from '../statistics.js';
import { demandOf } from './demand.js';
import type { EpisodeRecord } from './episodes.js';
import {
  type AwareContender,
  agentRunFor,
  bestWindow,
  type ContenderRun,
  cloneEpisodes,
  episodesToReach,
  meanOfRecords,
  named,
  playEpisodes,
  ruleBased,
  type StudyTools,
  trainedOn,
} from './study-parts.js';
import { type AwareStudyRequest, CONVERGED, FIRST, pairsOf } from './study-request.js';
import { AwareSystem } from './system.js';

export interface AdaptationRow {
  readonly contender: AwareContender;
  /** Episodes until the converged return; those that never did count as all episodes. */
  readonly episodes: Interval;
  readonly reached: number;
  readonly pairs: number;
  /** Episodes until the same share of what it earns itself in its last 20. */
  readonly ownEpisodes: Interval;
  /** Share of what the source earned that is lost in the first ten episodes. */
  readonly drop: Interval;
  /** In the first 100 episodes: missed steps, and use below what the converged agents have. */
  readonly missed: Interval;
  /** Missed steps of the workloads with each source: one bad source agent shows. */
  readonly missedBySource: readonly number[];
  readonly cpuDeficit: Interval;
  readonly memoryDeficit: Interval;
  /** Updates of the weights until the converged return. */
  readonly updates: Interval;
  /** Mean reward of the last 20 episodes, as a share of the best contender's. */
  readonly late: Interval;
  /** In the order of the pairs, which all contenders share. */
  readonly byPair: Readonly<Record<PairFigure, readonly number[]>>;
  /** Of each pair: the number of its source. */
  readonly sources: readonly number[];
}

type PairFigure = 'episodes' | 'ownEpisodes' | 'missed';

/** What `a` has more than `b` on the same pairs. */
export const moreThan = (a: AdaptationRow, b: AdaptationRow, figure: PairFigure): Interval =>
  meanInterval(
    a.byPair[figure].map((value, pair) => value - b.byPair[figure][pair]!),
    a.sources,
  );

/** What `a` has over what `b` has: a ratio of means for each source, geometric mean over them. */
export const timesOf = (a: AdaptationRow, b: AdaptationRow, figure: PairFigure): Interval => {
  const meanWith = ({ byPair }: AdaptationRow, source: number): number =>
    mean(byPair[figure].filter((_, pair) => a.sources[pair] === source));
  return ratioInterval(
    [...new Set(a.sources)].map((source) => meanWith(a, source) / meanWith(b, source)),
  );
};

const ADAPTING = ['tl', 'tl-plus', 'generalist', 'aware-online', 'aware'] as const;

/** `earned`: the source agent's return on its own workload; null without a source. */
export interface AdaptationRun extends ContenderRun {
  readonly earned: number | null;
}

export const adaptationPieces = ({ sources }: AwareStudyRequest): number => sources.length;

/** All contenders on the pairs with one source; pieces are independent. */
export function adaptation(
  tools: StudyTools,
  request: AwareStudyRequest,
  source: number,
): AdaptationRun[][] {
  const { heldOut, sources, pairs, sourceEpisodes, adaptationEpisodes } = request;
  const seed = 90 + request.firstSeed + source;
  const start = {
    tl: trainedOn(tools, sources[source]!, false, sourceEpisodes, seed),
    'tl-plus': trainedOn(tools, sources[source]!, true, sourceEpisodes, seed),
  };
  const ownPairs = pairsOf(heldOut, pairs, request).filter((_, i) => i % sources.length === source);
  const runs = ownPairs.map((paired) => {
    const learned = ADAPTING.map((name) => {
      const before = name === 'tl' || name === 'tl-plus' ? start[name] : null;
      const agentRun = agentRunFor(name, tools, paired, before?.agentRun ?? null);
      const records = playEpisodes(
        agentRun,
        new AwareSystem(demandOf(paired.app), paired.seed),
        adaptationEpisodes,
      );
      agentRun.dispose();
      return {
        name,
        records,
        transitions: named(agentRun.transitions),
        earned: before?.earned ?? null,
      };
    });
    const rules = (['kpa', 'hpa-vpa', 'hpa-vpa-slo'] as const).map((name) => ({
      name,
      records: ruleBased(name, paired, adaptationEpisodes),
      transitions: [],
      earned: null,
    }));
    const clone = cloneEpisodes(tools, paired, 10, adaptationEpisodes);
    return [
      ...learned,
      ...rules,
      { name: 'clone' as const, records: clone, transitions: [], earned: null },
    ];
  });
  start.tl.agentRun.dispose();
  start['tl-plus'].agentRun.dispose();
  return runs;
}

/**
 * `bySource`: the runs of each piece. Runs with one source share its agents, and count as one group
 * in the intervals.
 */
export function adaptationRows(
  bySource: readonly (readonly (readonly AdaptationRun[])[])[],
): AdaptationRow[] {
  const runs = bySource.flat();
  const sources = bySource.flatMap((own, source) => own.map(() => source));
  const converged = runs.map((run) => {
    // The best learner's result stands for the optimum.
    const best = run.filter(({ name }) => ADAPTING.some((one) => one === name));
    const by = [...best].sort((a, b) => bestWindow(b.records) - bestWindow(a.records))[0]!;
    const late = by.records.slice(-20);
    return {
      earned: Math.max(...best.map(({ records }) => meanOfRecords(records.slice(-20), 'earned'))),
      cpu: meanOfRecords(late, 'cpu'),
      memory: meanOfRecords(late, 'memory'),
    };
  });
  return runs[0]!.map(({ name }, column) => {
    type Value = (records: readonly EpisodeRecord[], pair: number) => number;
    const valuesOf = (value: Value): number[] =>
      runs.map((run, pair) => value(run[column]!.records, pair));
    const of = (value: Value): Interval => meanInterval(valuesOf(value), sources);
    const reach = (records: readonly EpisodeRecord[], pair: number): number | null =>
      episodesToReach(records, shareOf(converged[pair]!.earned, CONVERGED));
    const byPair = {
      episodes: valuesOf((records, pair) => reach(records, pair) ?? records.length),
      ownEpisodes: valuesOf((records) => {
        const own = meanOfRecords(records.slice(-20), 'earned');
        return episodesToReach(records, shareOf(own, CONVERGED)) ?? records.length;
      }),
      missed: valuesOf((records) => meanOfRecords(records.slice(0, FIRST), 'missed')),
    };
    return {
      contender: name,
      byPair,
      sources,
      pairs: runs.length,
      reached: runs.filter((run, pair) => reach(run[column]!.records, pair) !== null).length,
      episodes: meanInterval(byPair.episodes, sources),
      ownEpisodes: meanInterval(byPair.ownEpisodes, sources),
      drop: of((records, pair) => {
        const before = runs[pair]![column]!.earned ?? converged[pair]!.earned;
        return 1 - meanOfRecords(records.slice(0, 10), 'earned') / before;
      }),
      missed: meanInterval(byPair.missed, sources),
      missedBySource: bySource.map((own) =>
        meanOfRecords(
          own.flatMap((run) => run[column]!.records.slice(0, FIRST)),
          'missed',
        ),
      ),
      cpuDeficit: of(
        (records, pair) => converged[pair]!.cpu - meanOfRecords(records.slice(0, FIRST), 'cpu'),
      ),
      memoryDeficit: of(
        (records, pair) =>
          converged[pair]!.memory - meanOfRecords(records.slice(0, FIRST), 'memory'),
      ),
      updates: of(
        (records, pair) => records[(reach(records, pair) ?? records.length) - 1]!.updates,
      ),
      late: of(
        (records, pair) => meanOfRecords(records.slice(-20), 'earned') / converged[pair]!.earned,
      ),
    };
  });
}
