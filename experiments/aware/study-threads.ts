import { Worker } from 'node:worker_threads';
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

/**
 * Plays pieces of a study on worker threads. How many changes nothing but the time. Throws what a
 * piece failed with.
 */
export async function playPieces(
  request: AwareStudyRequest,
  pieces: readonly AwarePiece[],
  { workers, meta, onResult }: StudyThreads,
): Promise<void> {
  const waiting = [...pieces];
  const workerData: StudyThreadData = { kind: 'aware-study', request, meta };
  const threads = Array.from(
    { length: Math.min(workers, waiting.length) },
    () => new Worker(new URL('study-thread.js', import.meta.url), { workerData }),
  );
  const finished = threads.map(
    (thread) =>
      new Promise<void>((resolve, reject) => {
        let at: AwarePiece | undefined;
        const next = (): void => {
          at = waiting.shift();
          if (at === undefined) resolve();
          else thread.postMessage(at);
        };
        const failed = (why: string, cause?: unknown): void =>
          reject(
            new Error(`the study's piece ${at === undefined ? '' : pieceKey(at)} failed: ${why}`, {
              cause,
            }),
          );
        thread.on('message', (result: unknown) => {
          onResult(at!, result);
          next();
        });
        thread.on('error', (error) => failed(error.message, error));
        thread.on('exit', (code) => failed(`its thread ended with ${code}`));
        next();
      }),
  );
  try {
    await Promise.all(finished);
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}
