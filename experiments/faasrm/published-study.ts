import {
  type PublishedManagerName,
  type PublishedSummary,
  playPublished,
  readPublishedSample,
  summarizePublished,
} from '../../simulator/freyr-2021/index.js';
import { type Interval, meanInterval } from '../statistics.js';

/** In the order of tables; `random-unguarded` is the choice without a safeguard. */
const PUBLISHED_CONTENDERS = [
  'fixed',
  'greedy',
  'ensure',
  'faasrm',
  'smallest-in-range',
  'random-in-range',
  'largest-in-range',
  'random-unguarded',
] as const satisfies readonly (PublishedManagerName | 'faasrm')[];

export const PUBLISHED_STUDY_FIGURES = [
  'rfet.mean',
  'rfet.p98',
  'duration.p98',
  'rfet.above1.share',
  'harvested.share',
  'accelerated.share',
] as const satisfies readonly (keyof PublishedSummary)[];
type PublishedStudyFigure = (typeof PUBLISHED_STUDY_FIGURES)[number];

export interface PublishedRow {
  readonly functions: number;
  readonly contender: (typeof PUBLISHED_CONTENDERS)[number];
  readonly activations: number;
  readonly figures: Readonly<Record<PublishedStudyFigure, Interval>>;
}

/**
 * Every contender on the first functions of the published sample. `actor`: 929 weights of
 * the learned choice, trained on other rows of it. Seeds draw servers when all are full, and random
 * choices; nothing else.
 */
export function publishedStudy(
  counts: readonly number[],
  seeds: readonly number[],
  actor: Float32Array,
): PublishedRow[] {
  return counts.flatMap((functions) => {
    const sample = readPublishedSample('azure-sample', functions);
    return PUBLISHED_CONTENDERS.map((contender): PublishedRow => {
      const manager = contender === 'faasrm' ? { actor, version: 0, experiences: null } : contender;
      const runs = seeds.map((seed) =>
        summarizePublished(playPublished(sample, { manager, seed })),
      );
      const figures = PUBLISHED_STUDY_FIGURES.map(
        (key) => [key, meanInterval(runs.map((run) => run[key]))] as const,
      );
      return {
        functions,
        contender,
        activations: runs[0]!.activations,
        figures: Object.fromEntries(figures) as unknown as PublishedRow['figures'],
      };
    });
  });
}
