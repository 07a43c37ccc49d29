import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { loadMeta, type MetaLearner, shippedMeta } from '../../agents/aware/index.js';
import { defaultEngine } from '../../agents/nn/index.js';
import { stderrProgress } from '../../runtime/index.js';
import { PieceFiles } from '../piece-files.js';
import type { Reproduction } from '../reproduction.js';
import { awareMissed, awareReport } from './reproduce.js';
import { gatherStudy } from './study.js';
import { unconditionedMeta } from './study-parts.js';
import { awarePieces, pieceKey } from './study-pieces.js';
import type { AwareStudyRequest } from './study-request.js';
import { playPieces } from './study-threads.js';
import { appsOf } from './training-thread.js';

/** `gleaner reproduce aware`: some half an hour of two cores, a minute with --quick. */
const AWARE: Omit<AwareStudyRequest, 'heldOut' | 'sources' | 'firstSeed'> = {
  pairs: 20,
  perScenario: 20,
  surveyEpisodes: 8,
  sourceEpisodes: 300,
  adaptationEpisodes: 100,
  beforeEpisodes: 60,
  afterEpisodes: 80,
  bootstrapEpisodes: 400,
  triplets: 5000,
  tripletEpisodes: 2,
};
const AWARE_QUICK: typeof AWARE = {
  ...AWARE,
  pairs: 4,
  perScenario: 1,
  surveyEpisodes: 4,
  sourceEpisodes: 200,
  adaptationEpisodes: 60,
  afterEpisodes: 60,
  bootstrapEpisodes: 100,
  triplets: 1000,
};
const AWARE_SOURCES = 5;
const QUICK_HELD_OUT = 40;

/**
 * Written into each piece. To be raised where the study, what learns in it or its systems change:
 * pieces of before are played again.
 */
const EDITION = 4;

export interface AwareRun {
  readonly quick: boolean;
  readonly firstSeed: number;
  /** Folder of another meta-learner than the shipped one. */
  readonly meta?: string;
  readonly workers: number;
  /** Where pieces are kept as they are done. */
  readonly folder: string;
  readonly command: string;
}

/**
 * The study, its pieces on worker threads; what is there of a run that was stopped is not played
 * again.
 */
export async function reproduceAware({
  quick,
  firstSeed,
  meta,
  workers,
  folder,
  command,
}: AwareRun): Promise<Reproduction> {
  const some = <T>(from: readonly T[], count: number): T[] =>
    Array.from({ length: count }, (_, i) => from[Math.floor((i * from.length) / count)]!);
  const size = quick ? AWARE_QUICK : AWARE;
  const request = {
    ...size,
    firstSeed,
    heldOut: quick ? some(appsOf('test'), QUICK_HELD_OUT) : appsOf('test'),
    sources: some(appsOf('train'), quick ? 2 : AWARE_SOURCES),
  };
  const engine = defaultEngine((text) => void process.stderr.write(`gleaner: ${text}\n`)).name;
  const weights = hashOf([
    meta === undefined ? shippedMeta() : loadMeta(meta),
    unconditionedMeta(),
  ]);
  const files = new PieceFiles(join(folder, quick ? 'aware-quick' : 'aware'), {
    edition: EDITION,
    ...size,
    firstSeed,
    engine,
    weights,
  });
  const pieces = awarePieces(request);
  const missing = pieces.filter((piece) => !files.has(pieceKey(piece)));
  let done = pieces.length - missing.length;
  const progress = stderrProgress();
  try {
    await playPieces(request, missing, {
      workers,
      meta: meta ?? null,
      onResult: (piece, result) => {
        files.save(pieceKey(piece), result);
        progress.update(++done / pieces.length, pieceKey(piece));
      },
    });
  } finally {
    progress.end();
  }
  const study = gatherStudy(request, (piece) => files.read(pieceKey(piece)));
  return {
    markdown: awareReport(study, request, command),
    figures: study,
    missed: awareMissed(study),
  };
}

/** Of all weights that figures depend on. */
function hashOf(learners: readonly MetaLearner[]): string {
  const hash = createHash('sha256');
  for (const { encoder, base } of learners)
    for (const one of [encoder.recurrent, encoder.head.parameters, base.actor, base.critic])
      hash.update(new Uint8Array(one.buffer, one.byteOffset, one.byteLength));
  return hash.digest('hex').slice(0, 16);
}
