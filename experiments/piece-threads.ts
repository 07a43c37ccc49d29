import { Worker } from 'node:worker_threads';

export interface PieceThreads<P> {
  /** Answers each piece that it is posted with the piece's result. */
  readonly script: URL;
  readonly workerData: unknown;
  readonly workers: number;
  readonly keyOf: (piece: P) => string;
  /** Asked just before a piece begins; false: it is left out. */
  readonly isWanted?: (piece: P) => boolean;
  /** As soon as a piece is there. */
  readonly onResult: (piece: P, result: unknown) => void;
}

/**
 * Plays pieces of a study on worker threads. How many changes nothing but the time. Throws what a
 * piece failed with.
 */
export async function playInThreads<P>(
  pieces: readonly P[],
  { script, workerData, workers, keyOf, isWanted = () => true, onResult }: PieceThreads<P>,
): Promise<void> {
  const waiting = [...pieces];
  const take = (): P | undefined => {
    let piece = waiting.shift();
    while (piece !== undefined && !isWanted(piece)) piece = waiting.shift();
    return piece;
  };
  const threads = Array.from(
    { length: Math.min(workers, waiting.length) },
    () => new Worker(script, { workerData }),
  );
  const finished = threads.map(
    (thread) =>
      new Promise<void>((resolve, reject) => {
        let at: P | undefined;
        const next = (): void => {
          at = take();
          if (at === undefined) resolve();
          else thread.postMessage(at);
        };
        const failed = (why: string, cause?: unknown): void =>
          reject(
            new Error(`the study's piece ${at === undefined ? '' : keyOf(at)} failed: ${why}`, {
              cause,
            }),
          );
        thread.on('message', (result: unknown) => {
          try {
            onResult(at!, result);
            next();
          } catch (error) {
            reject(error);
          }
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
