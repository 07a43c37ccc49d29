import test from 'ava';
import { benchSimulator } from '../../bench/simulator/simulator.js';

test('each row of the simulator’s bench comes from a run in its own process', (t) => {
  const lines: string[] = [];
  const rows = benchSimulator({
    activations: 4000,
    rounds: 1,
    lengths: [1000],
    functions: [10],
    log: (line) => lines.push(line),
  });
  const figures = rows.filter(({ precondition }) => precondition === undefined);
  t.deepEqual(
    figures.map(({ name }) => name),
    ['fixed', 'safeguard'].flatMap((subject) => [
      `simulator.${subject}.rate`,
      `simulator.${subject}.cost.activations-1e3`,
      `simulator.${subject}.cost.functions-10`,
      `simulator.${subject}.memory`,
    ]),
  );
  // Two subjects x (headline, one length, one number of functions).
  t.is(lines.length, 6);
  t.deepEqual(
    rows
      .filter(({ precondition }) => precondition !== undefined)
      .map(({ name, failed }) => [name, failed]),
    [
      ['simulator.uneven', false],
      ['simulator.fixed.activations', false],
      ['simulator.safeguard.activations', false],
    ],
  );
  for (const row of figures) t.true(row.value > 0 && Number.isFinite(row.value), row.name);
  const rate = rows.find(({ name }) => name === 'simulator.safeguard.rate')!;
  t.is(rate.baseline, 120);
  t.regex(rate.note!, /1 runs of 4000/);
  t.notRegex(rate.note!, / 0 observations/);
});
