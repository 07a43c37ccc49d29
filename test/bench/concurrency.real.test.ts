import test from 'ava';
import { measureLimit as measureConcurrency } from '../../bench/concurrency/cell.js';
import { tuneForReal } from '../../bench/concurrency/tuning.js';
import { ensureActionImage } from '../../simulator/invoker-emulator/index.js';
import { dockerAndTap, missing } from '../support/real-parts.js';

// So short that every machine has many beside each other; nothing here is about how fast they are.
const payload = { bloatMb: 0, prime: 1, sleepMs: 200 };

test.serial(
  'a limit is in force in a real container, its activations succeed and the tap sees each of them',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    const image = await ensureActionImage();
    for (const limit of [4]) {
      const cell = await measureConcurrency({
        ...{
          image,
          name: 'quick',
          payload,
          limit,
          callers: 8,
          warmUpMs: 300,
          windowMs: 500,
          core: null,
        },
      });
      t.is(cell.success, 1);
      // The function counts: never more, and with eight callers at once and 200 ms each all places
      // are taken.
      t.is(cell.maxConcurrent, limit);
      t.is(cell.seen, cell.sent);
      t.true(cell.sent > limit);
    }
  },
);

test.serial(
  'the tuner changes the limit of a real container, and keeps a table of what it met',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    const image = await ensureActionImage();
    const grid = { least: 2, most: 6, step: 2 };
    const run = await tuneForReal({
      ...{ image, name: 'quick', payload: { ...payload, sleepMs: 10 }, grid, start: 4, seed: 1 },
      ...{ iterations: 2, stepMs: 300, core: null, followed: 0 },
    });
    t.is(run.succeeded, run.activations);
    t.is(run.limits.length, 2);
    t.true([...run.limits, run.final].every((limit) => [2, 4, 6].includes(limit)));
    t.true(run.maxConcurrent <= run.highest);
    // A row at least for each limit that was judged.
    t.true(run.states >= new Set(run.limits).size);
  },
);
