import { failureByKey, playInThreads } from '../piece-threads.js';
import { type AwarePiece, pieceKey } from './study-pieces.js';
import type { AwareStudyRequest } from './study-request.js';
import type { StudyThreadData } from './study-thread.js';

export interface StudyThreads {
  readonly workers: number;
  /** Folder of the meta-learner; null: the shipped one. */
  readonly meta: string | null;
  /** As soon as a piece is there. */
  readonly onResult: (piece: AwarePiece, result: unknown) => void;
}

/** Plays pieces of a study on worker threads. */
export function playPieces(
  request: AwareStudyRequest,
  pieces: readonly AwarePiece[],
  { workers, meta, onResult }: StudyThreads,
): Promise<void> {
  const workerData: StudyThreadData = { kind: 'aware-study', request, meta };
  const script = new URL('study-thread.js', import.meta.url);
  return playInThreads(
    pieces.map((piece) => [piece]),
    { script, workerData, workers, onResult, failure: failureByKey(pieceKey) },
  );
}
