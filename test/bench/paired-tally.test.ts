import test from 'ava';
import { type ArmRun, PairedTally } from '../../bench/benefit/paired-tally.js';
import { failureLines } from '../../bench/report.js';

const off: ArmRun = {
  on: false,
  activations: 100,
  failed: 0,
  written: 0,
  functions: 0.5,
  others: 0.05,
};
const on: ArmRun = { ...off, on: true, written: 40 };

function broken(runs: readonly ArmRun[], load = 0.5): string[] {
  return failureLines(new PairedTally(runs).rows('w', load)).map(
    (line) => /: (w\.\S+) is/.exec(line)![1]!,
  );
}

test('paired runs need activations, writes in one arm alone, the load and a quiet host', (t) => {
  t.deepEqual(broken([off, on]), []);
  t.deepEqual(broken([off, { ...on, written: 0 }]), ['w.writes.on']);
  t.deepEqual(broken([{ ...off, written: 1 }, on]), ['w.writes.off']);
  t.deepEqual(broken([off, { ...on, failed: 1 }]), ['w.failed']);
  t.deepEqual(broken([off, { ...on, activations: 29 }]), ['w.activations']);
  t.deepEqual(broken([off, on], 0.9), ['w.load']);
  t.deepEqual(broken([off, { ...on, others: 0.3 }]), ['w.others']);
  t.deepEqual(
    new PairedTally().rows('w', 0.5),
    [],
    'if nothing was played nothing is said to hold',
  );
});
