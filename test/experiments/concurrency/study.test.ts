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

test('after 510 iterations q-learning is near the optimum in 90 % of 20 seeds', (t) => {
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
    t.is(row(surface, 'q-learning').distances.length, 20);
    // The interval stands clear of the constant, which has no spread.
    t.true(row(surface, 'q-learning').late.low > row(surface, 'constant 100').late.high);
  }
  // n / (1 + n (n - 1) / 4900): 33.1081 at 100, 35.2518 at 70; and 100 / 130 on the way up to the
  // plateau.
  t.true(Math.abs(row('optimum-70', 'constant 100').late.mean - 33.1081 / 35.2518) < 1e-5);
  t.true(Math.abs(row('plateau', 'constant 100').late.mean - 100 / 130) < 1e-9);
});

test('verdicts: 18 of 20 is enough and 17 is not; an equal mean is not above', (t) => {
  const flat = (mean: number) => ({ mean, low: mean, high: mean, n: 20 });
  const row = (
    contender: StudyRow['contender'],
    found: number,
    late: number,
    bad: number,
  ): StudyRow => ({
    surface: 'plateau',
    start: 100,
    contender,
    distances: Array(20).fill(0),
    found,
    late: flat(late),
    bad: flat(bad),
    lateBad: flat(0),
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
