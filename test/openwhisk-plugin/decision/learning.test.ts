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

test('the published presets start peaks again after a run at user limits', (t) => {
  const recent = (preset: 'default' | 'freyr-code', cpu: string, memory: string): number[] => {
    const one = new Player(decider({ preset }), limits(256, 1));
    const { fn } = one;
    fn.cpuPeak.add(900, 0, plain.halfLife);
    fn.memoryPeak.add(200, 0, plain.halfLife);
    const run = one.start();
    Object.assign(run.cpu, { reason: cpu, peak: 300 });
    Object.assign(run.memory, { reason: memory, peak: 50 });
    one.finish();
    return [fn.cpuPeak.read(one.now, Infinity), fn.memoryPeak.read(one.now, Infinity)];
  };
  for (const reason of ['first_activation', 'failure', 'spike']) {
    t.deepEqual(recent('freyr-code', reason, 'control'), [300, 50], reason);
    t.deepEqual(recent('freyr-code', 'control', reason), [300, 50], reason);
    t.deepEqual(recent('default', reason, reason), [900, 200], reason);
  }
  for (const reason of ['over_provisioned', 'under_provisioned', 'control'])
    t.deepEqual(recent('freyr-code', reason, reason), [900, 200], reason);
});

test('a hold after an OOM kill ends by runs that had the whole user limit', (t) => {
  const one = player();
  one.fn.oomHold = 2;
  for (const [granted, left] of [
    [255, 2],
    [256, 1],
    [300, 0],
    [256, 0],
  ] as const) {
    const run = one.start(one.now + 10);
    run.memory.granted = granted * MIB;
    one.finish();
    t.is(one.fn.oomHold, left);
  }
});

test('a working set at the user limit that met the limit asks for more', (t) => {
  const asks = (working: number, hits: number, user = 256): boolean => {
    const one = new Player(decider(), { ...limits(256, 1), memory: (user * MIB) as Bytes });
    one.start();
    one.run.memory.peak = working * MIB;
    one.run.workingPeak = working * MIB;
    one.run.limitHits = hits;
    one.finish();
    return one.fn.hitUserLimit;
  };
  // thetaUser is .9: 230.4 of 256 MiB.
  t.true(asks(231, 1));
  t.false(asks(231, 0), 'page cache alone is no need');
  t.false(asks(230, 1));
  t.false(asks(231, 1, 0), 'no limit');
});

test('the p95 of CPU time is computed at each of 64 runs, then at every 16th', (t) => {
  const one = player();
  const run = (cpuMs: number): number => {
    one.whole(cpuMs, 1);
    return one.fn.p95CpuTime;
  };
  for (let i = 0; i < 64; i++) run(100);
  const before = one.fn.p95CpuTime;
  t.true(before >= 100 && before <= 105);
  for (let i = 65; i < 80; i++) t.is(run(1000), before, `run ${i}`);
  // 16 of 80 took a second.
  t.true(run(1000) >= 1000);
});
