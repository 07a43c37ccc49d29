import test from 'ava';
import type { RoundRecord } from '../../bench/agents/records.js';
import { oomRows } from '../../bench/agents/rounds-rows.js';
import { failureLines } from '../../bench/report.js';

const activation = (ok: boolean) => ({
  name: 'ip',
  id: 'a',
  runMs: 10,
  kind: ok ? 'success' : 'oom',
  ok,
});

const round = (killedBelow: number, failed: { off: number; on: number }): RoundRecord => ({
  round: 0,
  arms: {
    off: Array.from({ length: 4 }, (_, i) => activation(i >= failed.off)),
    on: Array.from({ length: 4 }, (_, i) => activation(i >= failed.on)),
    again: [activation(true)],
  },
  brought: {},
  killedBelow,
  sampledSteps: 1,
  runs: [],
  others: 0,
  again: false,
});

test('kills below user limits add up over rounds, and one breaks the promise', (t) => {
  const rows = oomRows([round(2, { off: 1, on: 1 }), round(3, { off: 0, on: 0 })]);
  t.is(rows.find(({ name }) => name === 'agents.ooms.caused')!.value, 5);
  t.deepEqual(failureLines(rows), ['broken: agents.ooms.caused is 5 activations, not 0']);
});

test('activations may fail with agents as often as without', (t) => {
  t.deepEqual(failureLines(oomRows([round(0, { off: 2, on: 2 })])), []);
  t.deepEqual(failureLines(oomRows([round(0, { off: 2, on: 3 })])), [
    'broken: agents.lost is 3 activations, not <= 2',
  ]);
});
