import { join } from 'node:path';
import { stderrProgress } from '../../runtime/index.js';
import type { Reproduction } from '../reproduction.js';
import { simppoFigures, simppoMissed } from './figures.js';
import { PieceStore, piecesOf, type StudyPart } from './pieces.js';
import { FULL, QUICK, type StudySize } from './protocol.js';
import { simppoReport } from './report.js';

export interface SimppoRun {
  readonly quick: boolean;
  /** Number of seeds, and the first of them; absent: as usual. */
  readonly seeds?: number;
  readonly firstSeed?: number;
  /** Only pieces whose key begins so. */
  readonly only?: string;
  /** Begins no piece after this. */
  readonly minutes?: number;
  /** Folder of the pieces. */
  readonly folder: string;
  readonly command: string;
}

/** Reports the pieces run so far; the others count as missed. */
export function reproduceSimppo(run: SimppoRun): Reproduction {
  const { quick, seeds, firstSeed, folder, command } = run;
  const whole = quick ? QUICK : FULL;
  const size =
    seeds === undefined && firstSeed === undefined
      ? whole
      : { ...whole, seeds: seedsFrom(firstSeed ?? 1, seeds ?? whole.seeds.length) };
  const store = new PieceStore(join(folder, quick ? 'simppo-quick' : 'simppo'), size);
  const missing = runPieces(store, size, run);
  return {
    markdown: simppoReport(store, size, command),
    figures: simppoFigures(store, size),
    missed: [...simppoMissed(store, size), ...missing.map((key) => `${key}: not run yet`)],
  };
}

const seedsFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => first + i);

/** Runs what is missing, piece by piece, as far as asked. @returns keys that are still missing */
function runPieces(
  store: PieceStore,
  size: StudySize,
  { only = '', minutes = Number.POSITIVE_INFINITY }: SimppoRun,
): string[] {
  const pieces = piecesOf(size);
  const missing = (): StudyPart[] => pieces.filter(({ key }) => !store.has(key));
  const asked = missing().filter(({ key }) => key.startsWith(only));
  const until = performance.now() + minutes * 60_000;
  const progress = stderrProgress();
  try {
    for (const [i, piece] of asked.entries()) {
      if (performance.now() > until) break;
      // Another process may have run it meanwhile.
      if (store.has(piece.key)) continue;
      const report = (share: number): void =>
        progress.update((i + share) / asked.length, piece.key);
      report(0);
      store.save(piece.key, piece.run(store, report));
    }
  } finally {
    progress.end();
  }
  return missing().map(({ key }) => key);
}
