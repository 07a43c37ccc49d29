import { isMainThread, workerData } from 'node:worker_threads';
import { answerPieces } from '../piece-threads.js';
import { PieceStore, piecesOf } from './pieces.js';
import type { StudySize } from './protocol.js';

export interface SimppoThreadData {
  readonly kind: 'simppo-study';
  readonly size: StudySize;
  /** Folder of the pieces: some read what others left there. */
  readonly folder: string;
}

/** Runs pieces of the study by their keys. */
if (!isMainThread && (workerData as { kind?: unknown } | null)?.kind === 'simppo-study') {
  const { size, folder } = workerData as SimppoThreadData;
  const store = new PieceStore(folder, size);
  const pieces = new Map(piecesOf(size).map((piece) => [piece.key, piece]));
  answerPieces((key: string) => pieces.get(key)!.run(store));
}
