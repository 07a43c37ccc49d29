import test from 'ava';
import { failureByKey, playInThreads } from '../../experiments/piece-threads.js';

const module = new URL('../../experiments/piece-threads.js', import.meta.url);
/** Threads that answer a number with its square and their own id, and refuse negative ones. */
const script = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { threadId } from 'node:worker_threads';
    import { answerPieces } from '${module}';
    answerPieces((piece) => {
      if (piece < 0) throw new RangeError('negative');
      return { square: piece * piece, threadId };
    });
  `)}`,
);
const failure = failureByKey((piece: number) => `number ${piece}`);

interface Square {
  readonly square: number;
  readonly threadId: number;
}

test('pieces of a batch run on one thread, in their order', async (t) => {
  const batches = [
    [1, 2, 3],
    [4, 5, 6],
    [7, 8, 9],
  ];
  for (const workers of [1, 2, 8]) {
    const results = new Map<number, Square>();
    const onResult = (piece: number, result: unknown): void =>
      void results.set(piece, result as Square);
    await playInThreads(batches, { script, workers, onResult, failure });
    t.is(results.size, 9);
    for (const [piece, { square }] of results) t.is(square, piece * piece);
    for (const batch of batches) {
      t.is(new Set(batch.map((piece) => results.get(piece)!.threadId)).size, 1);
      t.deepEqual(
        [...results.keys()].filter((piece) => batch.includes(piece)),
        batch,
      );
    }
  }
});

test('a piece that is no longer wanted when its turn comes is left out', async (t) => {
  const played: number[] = [];
  const done = new Set([4]);
  await playInThreads([[1, 2], [3], [4], [5]], {
    script,
    workers: 1,
    isWanted: (piece) => !done.has(piece),
    onResult: (piece) => {
      played.push(piece);
      // As another process may do.
      done.add(3);
    },
    failure,
  });
  t.deepEqual(played, [1, 2, 5]);
});

test('a piece that fails ends the study with its name and cause', async (t) => {
  const played: number[] = [];
  const error = await t.throwsAsync(
    playInThreads([[1], [-2], [3]], {
      script,
      workers: 1,
      onResult: (piece) => void played.push(piece),
      failure,
    }),
    { message: "the study's piece number -2 failed: negative" },
  );
  t.true(error.cause instanceof RangeError);
  t.deepEqual(played, [1]);
});

test('a script that cannot be loaded ends the study', async (t) => {
  await t.throwsAsync(
    playInThreads([[1]], {
      script: new URL('data:text/javascript,import "no-such-module"'),
      workers: 1,
      onResult: () => t.fail(),
      failure,
    }),
    { message: /^the study's piece number 1 failed: .*no-such-module/ },
  );
});

test('a result that cannot be stored fails the study, not the process', async (t) => {
  const played = playInThreads([[1]], {
    script,
    workers: 1,
    onResult: () => {
      throw new Error('the disk is full');
    },
    failure,
  });
  await t.throwsAsync(played, { message: 'the disk is full' });
});
