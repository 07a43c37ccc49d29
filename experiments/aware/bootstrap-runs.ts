import { type Interval, meanInterval } from '../statistics.js';
import { demandOf } from './demand.js';
import type { EpisodeRecord } from './episodes.js';
import {
  type AwareContender,
  agentRunFor,
  type ContenderRun,
  cloneEpisodes,
  meanOfRecords,
  named,
  playEpisodes,
  type RecordFigure,
  ruleBased,
  type StudyTools,
} from './study-parts.js';
import { type AwareStudyRequest, FIRST, pairsOf } from './study-request.js';
import { AwareSystem } from './system.js';

export interface BootstrapRow {
  readonly contender: AwareContender;
  readonly pairs: number;
  readonly hundreds: readonly Readonly<{
    cpu: Interval;
    memory: Interval;
    missed: Interval;
    earned: Interval;
  }>[];
  /** Over all episodes. */
  readonly missed: Interval;
  readonly earned: Interval;
}

const LEARNING = ['scratch', 'bootstrap', 'aware'] as const;

const BEGINNING: readonly AwareContender[] = [...LEARNING, 'clone', 'hpa-vpa', 'kpa'];

export const bootstrapPieces = ({ pairs }: AwareStudyRequest): number => pairs;

/** All contenders on one new workload. */
export function bootstrapRun(
  tools: StudyTools,
  request: AwareStudyRequest,
  pair: number,
): ContenderRun[] {
  const { heldOut, pairs, bootstrapEpisodes } = request;
  const paired = pairsOf(heldOut, pairs, request)[pair]!;
  return BEGINNING.map((name): ContenderRun => {
    if (name === 'clone')
      return {
        name,
        records: cloneEpisodes(tools, paired, 10, bootstrapEpisodes),
        transitions: [],
      };
    if (name === 'hpa-vpa' || name === 'kpa')
      return { name, records: ruleBased(name, paired, bootstrapEpisodes), transitions: [] };
    const agentRun = agentRunFor(name as (typeof LEARNING)[number], tools, paired, null);
    const records = playEpisodes(
      agentRun,
      new AwareSystem(demandOf(paired.app), paired.seed),
      bootstrapEpisodes,
    );
    agentRun.dispose();
    return { name, records, transitions: named(agentRun.transitions) };
  });
}

export function bootstrapRows(
  runs: readonly (readonly ContenderRun[])[],
  bootstrapEpisodes: number,
): BootstrapRow[] {
  const names = BEGINNING;
  const rule = names.indexOf('hpa-vpa');
  const hundreds = Math.max(1, Math.floor(bootstrapEpisodes / FIRST));
  const length = Math.min(FIRST, bootstrapEpisodes);
  return names.map((contender, column) => ({
    contender,
    pairs: runs.length,
    hundreds: Array.from({ length: hundreds }, (_, hundred) => {
      const part = (records: readonly EpisodeRecord[]) =>
        records.slice(hundred * length, (hundred + 1) * length);
      const against = (figure: RecordFigure): Interval =>
        meanInterval(
          runs.map(
            (run) =>
              meanOfRecords(part(run[column]!.records), figure) /
                meanOfRecords(part(run[rule]!.records), figure) -
              1,
          ),
        );
      const own = (figure: RecordFigure): Interval =>
        meanInterval(runs.map((run) => meanOfRecords(part(run[column]!.records), figure)));
      return {
        cpu: against('cpu'),
        memory: against('memory'),
        missed: own('missed'),
        earned: own('earned'),
      };
    }),
    missed: meanInterval(runs.map((run) => meanOfRecords(run[column]!.records, 'missed'))),
    earned: meanInterval(runs.map((run) => meanOfRecords(run[column]!.records, 'earned'))),
  }));
}
