import test from 'ava';
import type { Bytes, Millis } from '../../../config/index.js';
import { closeWindow, emptySample, Run } from '../../../openwhisk-plugin/decision/index.js';
import { copySample } from '../../../openwhisk-plugin/decision/usage-sample.js';
import { openWindow, watchMemory } from '../../../openwhisk-plugin/decision/usage-window.js';
import { decider, limits } from './helpers.js';

function started(quota = 1): Run {
  const one = decider();
  const container = one.container(limits(256, quota));
  const run = new Run(one.functionState('/g/f', '1', container.user, 0 as Millis), container);
  container.runs.push(run);
  return run;
}

test('a window shows busy millicores and begins the next', (t) => {
  const run = started();
  openWindow(run, 0, 0);
  t.is(closeWindow(run, -1, 100, 50), -1, 'no counter');
  t.is(closeWindow(run, 20_000, 49, 50), -1, 'too short, it goes on');
  t.is(closeWindow(run, 50_000, 100, 50), 500);
  t.is(closeWindow(run, 60_000, 200, 50), 100);
  t.is(run.cpu.peak, 500, 'the highest of them');
  t.is(closeWindow(run, 0, 300, 50), 0, 'a counter that starts again is no use');
});

test('without a beginning the first reading begins', (t) => {
  const run = started();
  openWindow(run, -1, 0);
  t.is(closeWindow(run, 70_000, 100, 50), -1);
  t.deepEqual([run.windowCpu, Number(run.windowAt), run.cpu.peak], [70_000, 100, -1]);
  t.is(closeWindow(run, 120_000, 200, 50), 500);
});

test('CPU above the user limit is accelerated where a raised quota is in force', (t) => {
  const accelerated = (change: (run: Run) => void, busy = 1500): number => {
    const run = started();
    run.cpu.granted = 2000;
    change(run);
    openWindow(run, 0, 0);
    closeWindow(run, busy * 100, 100, 50);
    return run.accelerated;
  };
  // Half a core above the user's one, for 100 ms.
  t.is(
    accelerated(() => undefined),
    50,
  );
  t.is(
    accelerated(() => undefined, 1000),
    0,
  );
  t.is(
    accelerated((run) => Object.assign(run, { enforced: false })),
    0,
  );
  t.is(
    accelerated((run) => Object.assign(run.container, { mode: 'weight' })),
    0,
  );
  t.is(
    accelerated((run) => Object.assign(run.cpu, { granted: 1000 })),
    0,
  );
  t.is(
    accelerated((run) => void run.container.runs.unshift(started())),
    0,
    'the oldest counts',
  );
});

test('memory growth is between two readings of the same run', (t) => {
  const run = started();
  run.startedAt = 1000 as Millis;
  const reading = (at: number, workingSet: number, peak = -1) =>
    Object.assign(emptySample(), { at, workingSet: workingSet as Bytes, peak });
  watchMemory(run, reading(1100, 500), reading(900, 0));
  t.is(run.growth, 0, 'the earlier one is of another run');
  watchMemory(run, reading(1100, 500), reading(1000, 100));
  t.is(run.growth, 4);
  watchMemory(run, reading(1300, 700), reading(1100, 500));
  watchMemory(run, reading(1300, 9000), reading(1300, 700));
  t.is(run.growth, 4, 'slower, or without a span');
  t.deepEqual([run.workingPeak, run.memory.peak], [9000, 9000]);
  watchMemory(run, reading(1400, 800, 9500), reading(1300, 9000));
  t.deepEqual([run.workingPeak, run.memory.peak], [9000, 9500], 'the kernel saw more');
  watchMemory(run, reading(1500, 800, 900), reading(1400, 800));
  t.deepEqual([run.workingPeak, run.memory.peak], [9000, 9500]);
});

test('a copied sample has every field', (t) => {
  const from = emptySample();
  const fields = from as unknown as Record<string, unknown>;
  for (const [key, value] of Object.entries(fields))
    fields[key] = typeof value === 'number' ? 7 : true;
  const into = emptySample();
  copySample(from, into);
  t.deepEqual(into, from);
});
