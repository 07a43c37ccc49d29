import type { MetaLearner } from '../../agents/aware/index.js';
import type { Engine } from '../../agents/nn/index.js';
import { SeededRandom } from '../../config/index.js';
import {
  type Interval,
  meanInterval,
  type Paired as PairedFigure,
  pairedWith,
} from '../statistics.js';
import { demandOf } from './demand.js';
import { AgentRun, conservativePpo, type EpisodeRecord } from './episodes.js';
import { fallbackTrajectory } from './meta-training.js';
import {
  type AwareContender,
  blindEncoder,
  meanOfRecords,
  type Paired,
  playEpisodes,
  type RecordFigure,
  ruleBased,
  type StudyTools,
} from './study-parts.js';
import type { AwareStudyRequest } from './study-request.js';
import { AwareSystem } from './system.js';

export interface SurveyRow {
  readonly contender: AwareContender;
  readonly figures: Readonly<Record<RecordFigure, Interval>>;
}

const FIGURES: readonly RecordFigure[] = ['earned', 'missed', 'preservation', 'cpu', 'memory'];
const SURVEYED = [
  'fixed',
  'constant',
  'kpa',
  'hpa-vpa',
  'hpa-vpa-slo',
  'zeroed',
  'generalist',
  'aware',
] as const;
/** Applications of one piece. */
const TOGETHER = 25;

/** What one application came to: [contender][figure], means over the second half. */
export type SurveyedApp = readonly (readonly number[])[];

export const surveyPieces = ({ heldOut }: AwareStudyRequest): number =>
  Math.ceil(heldOut.length / TOGETHER);

/**
 * Some of the held-out applications: the base-learner as shipped, with an embedding of two episodes
 * of the fallback or with zeros, and one that was trained without, against who learns nothing
 * either.
 */
export function survey(
  tools: StudyTools,
  request: AwareStudyRequest,
  piece: number,
): SurveyedApp[] {
  const { heldOut, surveyEpisodes } = request;
  const first = piece * TOGETHER;
  return heldOut.slice(first, first + TOGETHER).map((app, i) => {
    const paired = { app, seed: 490 + request.firstSeed + first + i };
    return SURVEYED.map((name) => {
      const records = recordsOf(name, tools, paired, surveyEpisodes);
      const settled = records.slice(Math.floor(surveyEpisodes / 2));
      return FIGURES.map((figure) => meanOfRecords(settled, figure));
    });
  });
}

function recordsOf(
  name: (typeof SURVEYED)[number],
  { engine, meta, unconditioned }: StudyTools,
  paired: Paired,
  episodes: number,
): EpisodeRecord[] {
  const blind = ({ encoder, base }: MetaLearner): Learned => ({
    encoder: blindEncoder(encoder),
    base,
  });
  if (name === 'aware') return serve(engine, meta, paired, episodes);
  if (name === 'zeroed') return serve(engine, blind(meta), paired, episodes);
  if (name === 'generalist') return serve(engine, blind(unconditioned), paired, episodes);
  return ruleBased(name, paired, episodes);
}

type Learned = Pick<MetaLearner, 'encoder' | 'base'>;

/** Decides as it was trained, and learns nothing more. */
function serve(
  engine: Engine,
  { encoder, base }: Learned,
  { app, seed }: Paired,
  episodes: number,
): EpisodeRecord[] {
  const agentRun = new AgentRun({
    engine,
    course: 'serving',
    seed,
    ppo: conservativePpo,
    start: base,
    encoder,
    transfer: false,
    fallback: { decide: ({ allocation }) => allocation },
  });
  const random = new SeededRandom(seed).fork('seen before');
  const seen = () => fallbackTrajectory(demandOf(app), random);
  agentRun.remember([seen(), seen()]);
  const records = playEpisodes(agentRun, new AwareSystem(demandOf(app), seed), episodes);
  agentRun.dispose();
  return records;
}

export const surveyRows = (apps: readonly SurveyedApp[]): SurveyRow[] =>
  SURVEYED.map((contender, c) => ({
    contender,
    figures: Object.fromEntries(
      FIGURES.map((figure, f) => [figure, meanInterval(apps.map((app) => app[c]![f]!))]),
    ) as SurveyRow['figures'],
  }));

/** What `aware` has more than the base-learner without embedding, application by application. */
export const embeddingGain = (
  apps: readonly SurveyedApp[],
): Readonly<Record<'earned' | 'missed', PairedFigure>> => {
  const valuesOf = (contender: (typeof SURVEYED)[number], figure: RecordFigure): number[] =>
    apps.map((app) => app[SURVEYED.indexOf(contender)]![FIGURES.indexOf(figure)]!);
  const gain = (figure: RecordFigure): PairedFigure =>
    pairedWith(valuesOf('aware', figure), valuesOf('generalist', figure), Number.POSITIVE_INFINITY);
  return { earned: gain('earned'), missed: gain('missed') };
};
