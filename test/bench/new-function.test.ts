import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import {
  type ActivationRecord,
  addRound,
  type RoundRecord,
  readRounds,
} from '../../bench/new-function/records.js';
import { learningFigures, newFunctionRows } from '../../bench/new-function/rounds-rows.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const activations = (
  slowdowns: readonly number[],
  phases: readonly string[] = [],
): ActivationRecord[] =>
  slowdowns.map((slowdown, i) => ({ slowdown, ok: true, phase: phases[i] ?? 'managing' }));
const running = activations([1]);
const quota = activations([1, 1]);

const ROUND: RoundRecord = {
  round: 1,
  arms: {
    nothing: { weight: activations([1, 1.1, 1.2, 9]), quota, running },
    fallback: { weight: activations([1, 1.4, 1, 9]), quota, running },
    aware: {
      weight: activations([1, 1.5, 1.3, 5], ['offline', 'online', 'guarded', 'serving']),
      quota,
      running,
    },
  },
  decisions: {
    weight: { phases: { offline: 4, online: 2 }, moved: 1 },
    quota: { phases: { offline: 2 }, moved: 0 },
  },
};

const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-9;

test('a new function is judged by the same activations in each arm, before it serves', (t) => {
  const { p99, above, activations, online } = learningFigures(ROUND, 'weight');
  t.is(activations, 3);
  // p99 of three values lies .98 of the way from the second to the third: 1.1 to 1.2, 1 to 1.4, 1.3
  // to 1.5.
  t.true(near(p99.nothing, 1.198) && near(p99.fallback, 1.392) && near(p99.aware, 1.496));
  t.true(near(above, 1.496 - 1.198));
  // Two of the three, the step of its guard among them.
  t.true(near(online, 2 / 3));
});

test('a failed activation counts as slower than any that succeeded', (t) => {
  const aware = ROUND.arms.aware;
  const failed = aware.weight.map((activation, i) => ({ ...activation, ok: i !== 0 }));
  const arms = { ...ROUND.arms, aware: { ...aware, weight: failed } };
  const { p99 } = learningFigures({ ...ROUND, arms }, 'weight');
  // Of 1.3, 1.5 and the failure; .98 of the way from 1.5.
  t.true(p99.aware > 100);
});

test('rounds of several parts are judged together, repeated ones once', (t) => {
  const file = join(temporaryFolder('new-function'), 'rounds.json');
  t.deepEqual(readRounds(file), []);
  addRound(file, readRounds(file), { ...ROUND, round: 2 });
  addRound(file, readRounds(file), ROUND);
  addRound(file, readRounds(file), ROUND);
  t.true(existsSync(file));
  const rounds = readRounds(file);
  t.deepEqual(
    rounds.map(({ round }) => round),
    [1, 2],
  );
  const rows = newFunctionRows(rounds);
  const of = (name: string): number => rows.find((row) => row.name === name)!.value;
  t.true(near(of('new.weight.above'), 1.496 - 1.198));
  t.is(of('new.quota.above'), 0);
  t.is(of('new.failed'), 0);
});

test('a file of rounds that an earlier version wrote is refused by its name and key', (t) => {
  const file = join(temporaryFolder('new-function'), 'rounds.json');
  const { running, ...arm } = ROUND.arms.aware;
  const calls = { ...ROUND, arms: { ...ROUND.arms, aware: { ...arm, calls: running } } };
  writeFileSync(file, JSON.stringify({ version: 1, rounds: [ROUND, calls] }));
  t.throws(() => readRounds(file), {
    message: new RegExp(`^${file}: rounds\\.1\\.arms\\.aware\\.running: .*another file`),
  });
  writeFileSync(file, '{"version":1,"rou');
  t.throws(() => readRounds(file), { message: new RegExp(`^${file}: .*JSON`) });
});
