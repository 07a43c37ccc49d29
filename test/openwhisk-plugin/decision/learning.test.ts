import test from 'ava';
import { type Bytes, MIB, type Millis } from '../../../config/index.js';
import { learnOom } from '../../../openwhisk-plugin/decision/learning.js';
import { decider, limits, Player, plain } from './helpers.js';

/** FaaSRM's memory rule lowers limits, so a spike can be seen. */
const player = (): Player => new Player(decider({ memoryPolicy: 'faasrm' }), limits(256, 1));

test('a memory spike under a lowered limit is kept until a clean run at the user limit', (t) => {
  const one = player();
  one.whole(1000, 0.2, 100);
  // 100 / .75 = 133.4 MiB; .8 of it = 106.7 MiB is the spike.
  const run = one.start(one.now + 10);
  t.true(run.memory.reduced);
  one.sample(100, 0.1, 107);
  t.true(one.fn.memorySpiked, 'at the restore');
  one.finish();
  t.true(one.fn.memorySpiked, 'after the run that spiked');
  const next = one.start(one.now + 10);
  t.is(next.memory.reason, 'spike');
  t.is(next.memory.granted, 256 * MIB);
  one.sample(100, 0.1, 100);
  one.finish();
  t.false(one.fn.memorySpiked, 'after a clean run at the user limit');
});

test('a run whose peak reaches .8 of its lowered limit at its end has spiked', (t) => {
  const one = player();
  one.whole(1000, 0.2, 100);
  const run = one.start(one.now + 10);
  one.sample(100, 0.1, 50);
  // The final reading, after the last sample: nothing was restored in the run.
  run.memory.peak = Math.ceil(0.8 * run.memory.granted) as Bytes;
  run.cpu.peak = Math.ceil(0.8 * run.cpu.granted) as typeof run.cpu.peak;
  one.finish();
  t.true(one.fn.memorySpiked);
  t.is(one.fn.cpuSpiked, run.cpu.reduced);
});

test('an OOM kill below the user limit holds harvesting, at the limit it asks for more', (t) => {
  const { fn } = player();
  learnOom(fn, (128 * MIB) as Bytes, plain, 0 as Millis);
  t.deepEqual(
    [fn.memorySpiked, fn.oomHarvest, fn.oomUser, fn.oomHold, fn.hitUserLimit],
    [true, 1, 0, plain.oomHoldRuns, false],
  );
  const { fn: other } = player();
  learnOom(other, (256 * MIB) as Bytes, plain, 0 as Millis);
  // The larger of 1.2 x 256 and 256 + 100 MiB.
  t.deepEqual(
    [other.memorySpiked, other.oomHarvest, other.oomUser, Number(other.memoryAfterOom)],
    [false, 0, 1, 356 * MIB],
  );
  t.true(other.hitUserLimit && other.lastFailed);
});
