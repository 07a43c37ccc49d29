import { isMainThread, workerData } from 'node:worker_threads';
import { loadMeta, shippedMeta } from '../../agents/aware/index.js';
import { defaultEngine } from '../../agents/nn/index.js';
import { answerPieces } from '../piece-threads.js';
import { unconditionedMeta } from './study-parts.js';
import { type AwarePiece, playPiece } from './study-pieces.js';
import type { AwareStudyRequest } from './study-request.js';

export interface StudyThreadData {
  readonly kind: 'aware-study';
  readonly request: AwareStudyRequest;
  /** Folder of the meta-learner; null: the shipped one. */
  readonly meta: string | null;
}

/** The other side of `playPieces`. */
if (!isMainThread && (workerData as { kind?: unknown } | null)?.kind === 'aware-study') {
  const { request, meta } = workerData as StudyThreadData;
  const tools = {
    engine: defaultEngine(() => {}),
    meta: meta === null ? shippedMeta() : loadMeta(meta),
    unconditioned: unconditionedMeta(),
  };
  answerPieces((piece: AwarePiece) => playPiece(tools, request, piece));
}
