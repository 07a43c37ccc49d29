import test from 'ava';
import { SeededRandom } from '../../config/index.js';
import {
  changedTogether,
  deviation,
  type Interval,
  isBelow,
  isChanged,
  MIN_SEEDS,
  mean,
  meanInterval,
  median,
  type Paired,
  pairedWith,
  quantile,
  quantileOf,
  ratioInterval,
} from '../../experiments/statistics.js';

const near = (value: number, expected: number, within: number): boolean =>
  Math.abs(value - expected) < within;

const normalDraws = (seed: number): (() => number) => {
  const random = new SeededRandom(seed);
  return () => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
};

test("the interval of Student's own example", (t) => {
  // Hours of sleep that one drug gave more than another to ten patients: Student, The Probable
  // Error of a Mean (1908). R's example for t.test, data `sleep`, paired: .7001142 to 2.4598858.
  const more = [1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4];
  const { mean, low, high } = meanInterval(more);
  t.true(near(mean, 1.58, 1e-9));
  t.true(near(low, 0.7001142, 1e-4), String(low));
  t.true(near(high, 2.4598858, 1e-4), String(high));
});

/** Share of 2000 trials whose interval has `truth` in it. */
function coverage(truth: number, interval: () => Interval): number {
  const trials = Array.from({ length: 2000 }, interval);
  return trials.filter(({ low, high }) => low <= truth && truth <= high).length / trials.length;
}

// The share's deviation is √(.95 x .05 / 2000) = .0049; three of them are .015.
const isNominal = (share: number): boolean => share >= 0.935 && share <= 0.965;

test('the interval of two, five and ten normal values has their mean in 95 % of cases', (t) => {
  const normal = normalDraws(1);
  for (const length of [2, 5, 10]) {
    const share = coverage(7, () => meanInterval(Array.from({ length }, () => 7 + normal())));
    t.true(isNominal(share), `${length} values: ${share}`);
  }
});

test('values that share what their group has count as one: five groups of four', (t) => {
  const normal = normalDraws(2);
  const groups = Array.from({ length: 20 }, (_, i) => i % 5);
  const draw = (): number[] => {
    const shared = Array.from({ length: 5 }, normal);
    return groups.map((group) => 7 + shared[group]! + normal());
  };
  const share = coverage(7, () => meanInterval(draw(), groups));
  t.true(isNominal(share), String(share));
  t.true(coverage(7, () => meanInterval(draw())) < 0.8, 'as independent values: too narrow');
  // Groups of one size: the interval of their means, here of 2 and 5, also in another order.
  const { mean, low, high } = meanInterval([1, 4, 6, 3], [0, 1, 1, 0]);
  const ofMeans = meanInterval([2, 5]);
  t.is(mean, ofMeans.mean);
  t.true(near(low, ofMeans.low, 1e-9) && near(high, ofMeans.high, 1e-9));
});

test('without spread there is no interval', (t) => {
  t.deepEqual(meanInterval([3, 3, 3]), { mean: 3, low: 3, high: 3, n: 3 });
  t.deepEqual(meanInterval([3]), { mean: 3, low: 3, high: 3, n: 1 });
  t.deepEqual(meanInterval([1, 3], [0, 0]), { mean: 2, low: 2, high: 2, n: 1 });
  const tenths = meanInterval([0.1, 0.1, 0.1]);
  t.is(tenths.low, tenths.high);
});

test('the interval of ratios is that of their logarithms', (t) => {
  // ± ln 2: mean 0, deviation √2 ln 2, standard error ln 2, and t of one degree is 12.706.
  const { mean, low, high } = ratioInterval([0.5, 2]);
  t.true(near(mean, 1, 1e-9));
  t.true(near(Math.log(low), -12.706 * Math.LN2, 1e-3));
  t.true(near(Math.log(high), 12.706 * Math.LN2, 1e-3));
  t.deepEqual(ratioInterval([0, 2]), meanInterval([0, 2]), 'zero has no logarithm');
});

test('pairing takes out what the seeds share', (t) => {
  // Seeds differ by a factor of ten, the contender takes 10 % off each.
  const fixed = [1, 10, 100];
  const { difference, ratio } = pairedWith([0.9, 9, 90], fixed, 1e-6);
  t.true(near(ratio!.mean, 0.9, 1e-12));
  t.true(near(ratio!.low, 0.9, 1e-12) && near(ratio!.high, 0.9, 1e-12));
  // -0.1, -1 and -10: mean -3.7, Σ of squares 59.94, standard error √(59.94 / (2 x 3)) = 3.1607, t
  // of two degrees 4.3027.
  t.true(near(difference.mean, -3.7, 1e-12));
  t.true(near(difference.low, -17.2995, 1e-3) && near(difference.high, 9.8995, 1e-3));
});

test('no ratio to a baseline near zero', (t) => {
  t.is(pairedWith([5, 7], [0, 2], 1e-3).ratio, null);
  t.is(pairedWith([5, 7], [0, 2], 1e-3).difference.mean, 5);
  t.is(pairedWith([], [], 0).ratio, null);
});

test('quantiles lie between ranks', (t) => {
  t.is(quantileOf([1, 2, 4], 0.5), 2);
  // Rank 2 x 0.75 = 1.5: half-way from 2 to 4.
  t.is(quantileOf([1, 2, 4], 0.75), 3);
  t.is(quantile([4, 1, 2], 0.75), 3);
  t.is(median([5, 1, 2, 4]), 3);
});

test('a figure of no values is NaN, and never below another', (t) => {
  for (const figure of [mean([]), quantileOf([], 0.5), quantile([], 0.99), median([])])
    t.is(figure, Number.NaN);
  t.is(deviation([1]), Number.NaN);
  t.deepEqual(meanInterval([]), {
    mean: Number.NaN,
    low: Number.NaN,
    high: Number.NaN,
    n: 0,
  });
  t.false(isBelow(meanInterval([]), 1));
  t.false(isBelow({ mean: Number.NaN, low: Number.NaN, high: Number.NaN, n: 9 }, 1));
});

test('the deviation is that of a sample', (t) => {
  // Mean 5, squares 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32, by 8 - 1.
  t.true(near(deviation([2, 4, 4, 4, 5, 5, 7, 9]), Math.sqrt(32 / 7), 1e-12));
});

test('fewer than five seeds, or other ones, tell nothing apart', (t) => {
  const around = (center: number, n: number): Interval => ({
    mean: center,
    low: center - 1,
    high: center + 1,
    n,
  });
  t.is(MIN_SEEDS, 5);
  t.true(isBelow(around(1, 5), around(4, 5)));
  t.false(isBelow(around(4, 5), around(1, 5)));
  t.false(isBelow(around(1, 5), around(3, 5)), 'they touch at 2');
  t.false(isBelow(around(1, 4), around(4, 4)));
  t.false(isBelow(around(1, 5), around(4, 6)));
  t.true(isBelow(around(1, 5), 2.1) && isBelow(-0.1, around(1, 5)));
  t.false(isBelow(around(1, 1), 2.1));
  t.false(isBelow(meanInterval([1, 1, 1, 1]), meanInterval([2, 2, 2, 2])));
  t.throws(() => pairedWith([1, 2], [1], 0), { instanceOf: RangeError });
});

test('a change counts if its probability without one is below 5 % over the comparisons', (t) => {
  // Student's ten patients: R's t.test(sleep) has p = .002833.
  const more = [1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4];
  const change = pairedWith(
    more,
    more.map(() => 0),
    0,
  );
  t.true(near(change.p, 0.002833, 5e-6), String(change.p));
  t.true(isChanged(change));
  // .05 / 17 = .00294, .05 / 18 = .00278.
  t.true(isChanged(change, 17));
  t.false(isChanged(change, 18));
  t.is(pairedWith(more, more, 0).p, 1);
  // Logarithms, as those of the ratio's interval: ln 2 and -ln 2 are no change.
  t.is(pairedWith([2, 1], [1, 2], 0).p, 1);
  t.is(pairedWith([3, 4, 5], [2, 3, 4], 9).p, 0, 'the same change in each');
  t.false(isChanged(pairedWith([3, 4, 5], [2, 3, 4], 9)), 'of three seeds');
});

test('of changes claimed together the least probable has the smallest share of the 5 %', (t) => {
  const flat = { mean: 1, low: 0, high: 2, n: 5 };
  const together = (...ps: number[]): boolean[] =>
    changedTogether(ps.map((p) => ({ difference: flat, ratio: null, p })));
  // .05 / 3 = .0167, .05 / 2 = .025, .05.
  t.deepEqual(together(0.04, 0.01, 0.02), [true, true, true]);
  t.deepEqual(together(0.06, 0.01, 0.02), [false, true, true]);
  t.deepEqual(together(0.04, 0.01, 0.03), [false, true, false], 'the second ends it');
  t.deepEqual(together(0.04, 0.02, 0.02), [false, false, false]);
  t.deepEqual(together(), []);
});

test('of twenty contenders without an effect one is told apart in at most 5 % of cases', (t) => {
  const normal = normalDraws(3);
  const values = (): number[] => Array.from({ length: 5 }, () => 7 + normal());
  const comparisons = 20;
  let claims = 0;
  for (let trial = 0; trial < 1000; trial++) {
    const fixed = values();
    const changes: Paired[] = Array.from({ length: comparisons }, () =>
      pairedWith(values(), fixed, 9),
    );
    if (changedTogether(changes).some(Boolean)) claims++;
  }
  // Deviation of the share √(.05 x .95 / 1000) = .0069; three of them above 5 %.
  t.true(claims / 1000 <= 0.071, String(claims));
});
