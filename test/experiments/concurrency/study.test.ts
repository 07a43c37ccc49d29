import test from 'ava';
import {
  concurrencyStudy,
  JUDGED,
  type StudyRow,
  studyVerdicts,
} from '../../../experiments/concurrency/study.js';
import { SURFACES } from '../../../experiments/concurrency/surface.js';

const seeds = Array.from({ length: 20 }, (_, i) => i + 1);
const judged = SURFACES.filter(({ name }) => JUDGED.some((one) => one === name));

test('after 510 iterations q-learning has 90 % of the best in 90 % of 20 seeds', (t) => {
  const rows = concurrencyStudy({ seeds, starts: [100], surfaces: judged });
  t.is(rows.length, 3 * 4);
  const verdicts = studyVerdicts(rows);
  t.deepEqual(
    verdicts.map(({ surface, finds, beatsConstant }) => [surface, finds, beatsConstant]),
    JUDGED.map((surface) => [surface, true, true]),
  );
  const row = (surface: string, contender: string): StudyRow =>
    rows.find((one) => one.surface === surface && one.contender === contender)!;
  for (const surface of JUDGED) {
    t.is(row(surface, 'q-learning').settled.length, 20);
    // The interval stands clear of the constant, which has no spread.
    t.true(row(surface, 'q-learning').late.low > row(surface, 'constant 100').late.high);
  }
  // It swings between 10 and 30, where 30 brings 2/3 of the best: a swing's mean is below 90 %.
  t.is(row('optimum-10', 'hill-climbing').found, 0);
  // n / (1 + n (n - 1) / 4900): 33.1081 at 100, 35.2518 at 70; and 100 / 130 on the way up to the
  // plateau.
  t.true(Math.abs(row('optimum-70', 'constant 100').late.mean - 33.1081 / 35.2518) < 1e-5);
  t.true(Math.abs(row('plateau', 'constant 100').late.mean - 100 / 130) < 1e-9);
});

test('verdicts: 18 of 20 is enough and 17 is not; an equal mean is not above', (t) => {
  const flat = (mean: number) => ({ mean, low: mean, high: mean, n: 20 });
  // Seeds differ more than searches do.
  const bySeed = (mean: number) => Array.from({ length: 20 }, (_, seed) => mean + 10 * seed);
  const row = (
    contender: StudyRow['contender'],
    found: number,
    late: number,
    bad: number,
  ): StudyRow => ({
    surface: 'plateau',
    start: 100,
    contender,
    settled: Array(20).fill(1),
    found,
    late: flat(late),
    bad: flat(bad),
    lateBad: flat(0),
    bySeed: { late: bySeed(late), bad: bySeed(bad) },
  });
  const verdict = (found: number, late: number, bad: number) =>
    studyVerdicts([
      row('constant 100', 0, 0.8, 0),
      row('hill-climbing', 0, 0, 30),
      row('q-learning', found, late, bad),
    ]);
  t.deepEqual(verdict(18, 0.81, 29), [
    { surface: 'plateau', start: 100, finds: true, beatsConstant: true, fewerBad: true },
  ]);
  t.deepEqual(verdict(17, 0.8, 30), [
    { surface: 'plateau', start: 100, finds: false, beatsConstant: false, fewerBad: false },
  ]);
});
