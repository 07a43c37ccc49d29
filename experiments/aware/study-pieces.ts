import { z } from 'zod';
import { PHASES } from '../../agents/aware/index.js';
import { type AdaptationRun, adaptation, adaptationPieces } from './adaptation.js';
import { bootstrapPieces, bootstrapRun } from './bootstrap-runs.js';
import { type ChangeRun, change, changePieces } from './changes.js';
import { tripletShare } from './meta-training.js';
import { CONTENDERS, type ContenderRun, type StudyTools } from './study-parts.js';
import type { AwareStudyRequest } from './study-request.js';
import { type SurveyedApp, survey, surveyPieces } from './survey.js';

const record = z.object({
  earned: z.number(),
  learned: z.number(),
  missed: z.number(),
  preservation: z.number(),
  cpu: z.number(),
  memory: z.number(),
  phase: z.enum(PHASES),
  acted: z.number(),
  updates: z.number(),
});
const records = z.array(record);
const run = z.object({ name: z.enum(CONTENDERS), records, transitions: z.array(z.string()) });

/** What a piece of each part comes to. */
interface PieceResults {
  readonly embeddings: ReturnType<typeof tripletShare>;
  readonly survey: readonly SurveyedApp[];
  readonly adaptation: readonly (readonly AdaptationRun[])[];
  readonly changes: ChangeRun;
  readonly beginnings: readonly ContenderRun[];
}

/** The same, as it is kept in a file. */
const RESULTS: { readonly [P in PartName]: z.ZodType<PieceResults[P]> } = {
  embeddings: z.object({ share: z.number(), triplets: z.number() }),
  survey: z.array(z.array(z.array(z.number()))),
  adaptation: z.array(z.array(run.extend({ earned: z.number().nullable() }))),
  changes: z.object({
    scenario: z.string(),
    before: records,
    retrained: records,
    frozen: records,
    noticed: z.number(),
    transitions: z.array(z.string()),
  }),
  beginnings: z.array(run),
};

export type PartName = keyof PieceResults;

/** A part of the study that is played in one go, alone: on any thread, in any order. */
export interface AwarePiece {
  readonly part: PartName;
  /** From 0 on. */
  readonly number: number;
}

export const pieceKey = ({ part, number }: AwarePiece): string => `${part}-${number}`;

interface Part<T> {
  pieces(request: AwareStudyRequest): number;
  play(tools: StudyTools, request: AwareStudyRequest, piece: number): T;
}

/** The longest first, so that threads end together. */
const PARTS: { readonly [P in PartName]: Part<PieceResults[P]> } = {
  beginnings: { pieces: bootstrapPieces, play: bootstrapRun },
  adaptation: { pieces: adaptationPieces, play: adaptation },
  changes: { pieces: changePieces, play: change },
  embeddings: {
    pieces: () => 1,
    play: ({ meta }, request) =>
      tripletShare(meta.encoder, request.heldOut, {
        triplets: request.triplets,
        episodes: request.tripletEpisodes,
        seed: request.firstSeed,
      }),
  },
  survey: { pieces: surveyPieces, play: survey },
};

/** All pieces of a study, in the order in which they are best begun. */
export const awarePieces = (request: AwareStudyRequest): AwarePiece[] =>
  (Object.keys(PARTS) as PartName[]).flatMap((part) =>
    Array.from({ length: PARTS[part].pieces(request) }, (_, number) => ({ part, number })),
  );

export const playPiece = (
  tools: StudyTools,
  request: AwareStudyRequest,
  { part, number }: AwarePiece,
): unknown => PARTS[part].play(tools, request, number);

/**
 * Results of all pieces of a part, in their order. Throws where one of them is not what it should
 * be.
 */
export function resultsOf<P extends PartName>(
  part: P,
  request: AwareStudyRequest,
  result: (piece: AwarePiece) => unknown,
): PieceResults[P][] {
  const schema: z.ZodType<PieceResults[P]> = RESULTS[part];
  return Array.from({ length: PARTS[part].pieces(request) }, (_, number) =>
    schema.parse(result({ part, number })),
  );
}
