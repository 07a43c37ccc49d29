import { PieceStore, piecesOf, type StudyPart } from './pieces.js';
import type { StudySize } from './protocol.js';

export interface StudyRequest {
  readonly size: StudySize;
  readonly folder: string;
  /** Only pieces whose key begins so. */
  readonly only?: string;
  /** Begins no piece after this. */
  readonly minutes?: number;
  /** Share of the pieces asked for that are done, and the one at work. */
  readonly onProgress: (share: number, key: string) => void;
}

export interface StudyRun {
  readonly store: PieceStore;
  /** Keys that are still to be run; empty: the report can be written. */
  readonly missing: readonly string[];
}

/** Runs what is missing of a study, piece by piece, as far as it was asked for. */
export function runStudy({ size, folder, only = '', minutes, onProgress }: StudyRequest): StudyRun {
  const store = new PieceStore(folder, size);
  const pieces = piecesOf(size);
  const missing = (): StudyPart[] => pieces.filter(({ key }) => !store.has(key));
  const missingPieces = missing().filter(({ key }) => key.startsWith(only));
  const until = performance.now() + (minutes ?? Number.POSITIVE_INFINITY) * 60_000;
  for (const [i, piece] of missingPieces.entries()) {
    if (performance.now() > until) break;
    // Another process may have run it meanwhile.
    if (store.has(piece.key)) continue;
    const report = (share: number): void =>
      onProgress((i + share) / missingPieces.length, piece.key);
    report(0);
    store.save(piece.key, piece.run(store, report));
  }
  return { store, missing: missing().map(({ key }) => key) };
}
