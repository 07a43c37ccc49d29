import { parentPort, Worker } from 'node:worker_threads';
import { messageOf } from '../config/index.js';

export interface PieceThreads<P> {
  /** Calls {@link answerPieces}. */
  readonly script: URL;
  readonly workerData?: unknown;
  readonly workers: number;
  /** Asked just before a piece begins; false: it is left out. */
  readonly isWanted?: (piece: P) => boolean;
  /** As soon as a piece is there. */
  readonly onResult: (piece: P, result: unknown) => void;
  /** Error of a piece that failed. `undefined`: the thread had none. */
  readonly failure: (piece: P | undefined, why: string, cause: unknown) => Error;
}

type Answer = { readonly result: unknown } | { readonly failed: string; readonly cause: unknown };

/**
 * Plays pieces of a study on worker threads: those of a batch on the same one, in their order. How
 * many threads changes nothing but the time. Throws what a piece failed with.
 */
export async function playInThreads<P>(
  batches: readonly (readonly P[])[],
  { script, workerData, workers, isWanted = () => true, onResult, failure }: PieceThreads<P>,
): Promise<void> {
  const waiting = [...batches];
  /** Of one thread. */
  function* taken(): Generator<P, undefined> {
    for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift())
      for (const piece of batch) if (isWanted(piece)) yield piece;
  }
  const threads = Array.from(
    { length: Math.min(Math.max(1, workers), waiting.length) },
    () => new Worker(script, { workerData }),
  );
  const finished = threads.map(
    (thread) =>
      new Promise<void>((resolve, reject) => {
        const pieces = taken();
        let at: P | undefined;
        const next = (): void => {
          at = pieces.next().value;
          if (at === undefined) resolve();
          else thread.postMessage(at);
        };
        const fail = (why: string, cause?: unknown): void => reject(failure(at, why, cause));
        thread.on('message', (answer: Answer) => {
          if ('failed' in answer) fail(answer.failed, answer.cause);
          else
            try {
              onResult(at!, answer.result);
              next();
            } catch (error) {
              reject(error);
            }
        });
        thread.on('error', (error) => fail(error.message, error));
        thread.on('exit', (code) => fail(`its thread ended with ${code}`));
        next();
      }),
  );
  try {
    await Promise.all(finished);
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}

/** The other side: answers each piece with its result. */
export function answerPieces<P>(play: (piece: P) => unknown): void {
  const answered = (piece: P): Answer => {
    try {
      return { result: play(piece) };
    } catch (error) {
      return { failed: messageOf(error), cause: error };
    }
  };
  parentPort!.on('message', (piece: P) => parentPort!.postMessage(answered(piece)));
}

/** For pieces that have a key. */
export const failureByKey =
  <P>(keyOf: (piece: P) => string): PieceThreads<P>['failure'] =>
  (piece, why, cause) =>
    new Error(`the study's piece ${piece === undefined ? '' : keyOf(piece)} failed: ${why}`, {
      cause,
    });
