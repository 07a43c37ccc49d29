import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import {
  type ArmRecord,
  addRound,
  type RoundRecord,
  readRounds,
} from '../../bench/new-function/records.js';
import {
  learningFigures,
  newFunctionRows,
  onlineFigures,
} from '../../bench/new-function/rounds-rows.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const arm = (slowdowns: readonly number[], phases: readonly string[] = []): ArmRecord => ({
  fresh: slowdowns.map((slowdown, i) => ({ slowdown, ok: true, phase: phases[i] ?? 'managing' })),
  running: [{ slowdown: 1, ok: true, phase: 'managing' }],
});

const ROUND: RoundRecord = {
  round: 1,
  mode: 'quota',
  arms: {
    fallback: arm([1, 1.1, 1.2, 9]),
    aware: arm([1, 1.5, 1.3, 5], ['offline', 'online', 'guarded', 'serving']),
    again: arm([1, 1.4, 1, 9]),
  },
  decisions: { offline: 4, online: 2 },
  moved: 1,
};

const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-9;

test('a new function is judged by the same calls in each arm, before it serves', (t) => {
  const { p99, above, calls } = learningFigures(ROUND);
  t.is(calls, 3);
  // p99 of three values lies .98 of the way from the second to the third: 1.1 to 1.2, 1.3 to 1.5, 1
  // to 1.4.
  t.true(near(p99.fallback, 1.198) && near(p99.aware, 1.496) && near(p99.again, 1.392));
  t.true(near(above, 1.496 - 1.392));
});

test('what its agent decides is judged apart, the steps of its guard with it', (t) => {
  const figures = onlineFigures(ROUND);
  t.is(figures!.calls, 2);
  // Of two values .99 of the way: 1.1 to 1.2, 1.3 to 1.5, 1 to 1.4.
  t.true(
    near(figures!.p99.fallback, 1.199) &&
      near(figures!.p99.aware, 1.498) &&
      near(figures!.p99.again, 1.396),
  );
  const never = { ...ROUND, arms: { ...ROUND.arms, aware: arm([1, 1, 1, 1]) } };
  t.is(onlineFigures(never), null);
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
  t.true(near(of('new.learning.above'), 0.104));
  t.true(near(of('new.online.above'), 1.498 - 1.396));
  t.is(of('new.online.share'), 0.5);
  t.is(of('new.failed'), 0);
});
