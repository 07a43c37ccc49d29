import { join } from 'node:path';
import { stderrProgress } from '../../runtime/index.js';
import { failureByKey, playInThreads } from '../piece-threads.js';
import { decidedMisses, type Reproduction } from '../reproduction.js';
import { simppoFigures, simppoMissed } from './figures.js';
import { PieceStore, piecesOf, type StudyPart } from './pieces.js';
import { FULL, QUICK, type StudySize } from './protocol.js';
import { simppoReport } from './report.js';
import type { SimppoThreadData } from './study-thread.js';

export interface SimppoRun {
  readonly quick: boolean;
  /** Number of seeds, and the first of them; absent: as usual. */
  readonly seeds?: number;
  readonly firstSeed?: number;
  /** Also the pieces that no published table needs. */
  readonly all: boolean;
  /** Only pieces whose key begins so. */
  readonly only?: string;
  /** Begins no piece after this. */
  readonly minutes?: number;
  readonly workers: number;
  /** Folder of the pieces. */
  readonly folder: string;
  readonly command: string;
}

/** Reports the pieces run so far; of those asked for, the others count as missed. */
export async function reproduceSimppo(run: SimppoRun): Promise<Reproduction> {
  const { quick, seeds, firstSeed, command } = run;
  const whole = quick ? QUICK : FULL;
  const size =
    seeds === undefined && firstSeed === undefined
      ? whole
      : { ...whole, seeds: seedsFrom(firstSeed ?? 1, seeds ?? whole.seeds.length) };
  const folder = join(run.folder, quick ? 'simppo-quick' : 'simppo');
  const store = new PieceStore(folder, size);
  const missing = await runPieces(store, size, { ...run, folder });
  return {
    markdown: simppoReport(store, size, command),
    figures: simppoFigures(store, size),
    missed: [
      ...decidedMisses(simppoMissed(store, size), size.seeds.length),
      ...missing.map((key) => `${key}: not run yet`),
    ],
  };
}

const seedsFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => first + i);

/** Runs what is missing of what is asked for. @returns keys that are still missing */
async function runPieces(
  store: PieceStore,
  size: StudySize,
  { all, only, minutes = Number.POSITIVE_INFINITY, workers, folder }: SimppoRun,
): Promise<string[]> {
  const isMissing = ({ key }: StudyPart): boolean => !store.has(key);
  const isAsked = ({ key, isExtra }: StudyPart): boolean =>
    only === undefined ? all || !isExtra : key.startsWith(only);
  const pieces = piecesOf(size);
  const asked = pieces.filter(isAsked);
  const needed = new Set(asked.filter(isMissing).map(({ needs }) => needs));
  // What others need is run before them: it is read from its file.
  const rounds = [
    pieces.filter(({ key }) => needed.has(key)),
    asked.filter(({ key }) => !needed.has(key)),
  ].map((round) => round.filter(isMissing));
  const until = performance.now() + minutes * 60_000;
  const count = rounds.flat().length;
  let done = 0;
  const progress = stderrProgress();
  const workerData: SimppoThreadData = { kind: 'simppo-study', size, folder };
  try {
    for (const round of rounds)
      await playInThreads(
        round.map(({ key }) => [key]),
        {
          script: new URL('study-thread.js', import.meta.url),
          workerData,
          workers,
          // Another process may have run it meanwhile.
          isWanted: (key) => performance.now() <= until && !store.has(key),
          onResult: (key, result) => {
            store.save(key, result);
            progress.update(++done / count, key);
          },
          failure: failureByKey((key) => key),
        },
      );
  } finally {
    progress.end();
  }
  return asked.filter(isMissing).map(({ key }) => key);
}
