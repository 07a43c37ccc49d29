import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { SeededRandom } from '../../config/index.js';
import {
  type ArmPair,
  type ArmSummary,
  addComparisons,
  type ComparisonSums,
  changeText,
  comparisonOf,
  comparisonSums,
  noComparison,
  verdictOf,
} from '../../rules/index.js';

function arm(times: readonly number[]): ArmSummary {
  const logs = times.map(Math.log);
  const logMean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const logVariance = logs.reduce((sum, log) => sum + (log - logMean) ** 2, 0) / logs.length;
  return { weight: times.length, logMean, logVariance };
}
const near = (value: number, expected: number, within: number): boolean =>
  Math.abs(value - expected) <= within;

test('one function: the ratio of geometric means with its Welch-Satterthwaite interval', (t) => {
  // d = ln .9; variance = .04/49 + .09/24 = .00456633, error .0675746; freedom = .00456633² /
  // (.000816327²/49 + .00375²/24) = 34.78, t = 2.0306 (tables: 2.0322 at 34, 2.0301 at 35);
  // interval exp(-.1053605 ± .137217) = .7846 .. 1.0324.
  const pair: ArmPair = {
    managed: { weight: 50, logMean: Math.log(0.9), logVariance: 0.04 },
    control: { weight: 25, logMean: 0, logVariance: 0.09 },
  };
  const comparison = comparisonOf(comparisonSums([pair]));
  if (!comparison.known) return t.fail();
  t.true(near(comparison.ratio, 0.9, 1e-9));
  t.true(near(comparison.low, 0.7846, 2e-4), `${comparison.low}`);
  t.true(near(comparison.high, 1.0324, 2e-4), `${comparison.high}`);
  t.deepEqual([comparison.activations, comparison.controlSamples], [50, 25]);
});

test('each function is compared with itself and weighted by n1 n2 / (n1 + n2)', (t) => {
  // A long function twice as fast (w = 30 x 10 / 40 = 7.5), a short one unchanged (w = 90 x 10 /
  // 100 = 9): ln ratio = 7.5 ln .5 / 16.5 = -.315067, ratio .72974. Means over all would say 500 x
  // 30 + 90 over 120 against 505: nonsense.
  const flat = (weight: number, time: number): ArmSummary => ({
    weight,
    logMean: Math.log(time),
    logVariance: 0,
  });
  const comparison = comparisonOf(
    comparisonSums([
      { managed: flat(30, 500), control: flat(10, 1000) },
      { managed: flat(90, 10), control: flat(10, 10) },
    ]),
  );
  t.true(comparison.known && near(comparison.ratio, 0.72974, 1e-4));
});

test('below 20 control samples there is a count and an expected time, but no figure', (t) => {
  const times = (n: number): number[] => Array.from({ length: n }, (_, i) => 90 + (i % 5) * 5);
  const sums = comparisonSums([
    { managed: arm(times(40)), control: arm(times(7)) },
    // One sample has no variance: it does not count yet.
    { managed: arm(times(40)), control: arm(times(1)) },
  ]);
  const comparison = comparisonOf(sums);
  t.deepEqual(comparison, { known: false, controlSamples: 7, needed: 20 });
  const host = { mode: 'enforce', killed: false, comparison: sums };
  const expected = (hosts: Parameters<typeof verdictOf>[0]): [string, number | null] => {
    const { text, expectedSeconds } = verdictOf(hosts);
    return [text, expectedSeconds];
  };
  const missing = 'not enough control samples yet: 7 of 20';
  // 7 in 14 s: 13 more in 26 s. The hook that has run for longest gives the pace.
  const others = [{ mode: 'recommend', killed: false, upSeconds: 3 }];
  t.deepEqual(expected([{ ...host, upSeconds: 14 }, ...others]), [
    `${missing}, expected in about 26 s`,
    26,
  ]);
  t.deepEqual(expected([host]), [missing, null], 'an older hook does not report its age');
  const nothing = 'nothing to compare: limits are written in mode enforce only';
  t.deepEqual(expected([{ ...host, mode: 'recommend', upSeconds: 14 }]), [nothing, null]);
  t.deepEqual(expected([{ ...host, killed: true, upSeconds: 14 }]), [nothing, null]);
  t.true(
    comparisonOf(comparisonSums([{ managed: arm(times(40)), control: arm(times(20)) }])).known,
  );
});

test('the verdict names change, interval, activations and control samples', (t) => {
  // ln .88 = -.12783; interval exp(-.12783 ± 1.96 × .0168) = .8515 .. .9095.
  const comparison: ComparisonSums = {
    ...noComparison,
    weight: 1,
    difference: Math.log(0.88),
    variance: 0.0168 ** 2,
    activations: 1200,
    controlSamples: 60,
  };
  t.is(
    verdictOf([{ mode: 'enforce', killed: false, comparison }]).text,
    'compared with the control arm: −12 % response time ' +
      '[95 % interval −15 % to −9.1 %, 1200 activations and 60 control samples]',
  );
  t.deepEqual([1, 1.0001, 1.034, 0.5, 2.5].map(changeText), [
    '0 %',
    '0 %',
    '+3.4 %',
    '−50 %',
    '+150 %',
  ]);
});

test('the interval covers the true ratio in 95 % of cases with few, noisy samples', (t) => {
  // Ten functions of 10 ms to 5 s, 17 managed and 3 control activations each, run times log-normal
  // with deviations of .2 to .6 that differ between the arms; the truth is 10 % faster. 2000
  // trials: the deviation of the share is .5 %.
  const random = new SeededRandom(7);
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  let held = 0;
  for (let trial = 0; trial < 2000; trial++) {
    const pairs = Array.from({ length: 10 }, (_, i) => {
      const draw = (n: number, factor: number, deviation: number): number[] =>
        Array.from({ length: n }, () => factor * 10 * 2 ** i * Math.exp(deviation * normal()));
      return {
        managed: arm(draw(17, 0.9, 0.2 + 0.02 * i)),
        control: arm(draw(3, 1, 0.6 - 0.04 * i)),
      };
    });
    const comparison = comparisonOf(comparisonSums(pairs));
    if (comparison.known && comparison.low <= 0.9 && comparison.high >= 0.9) held++;
  }
  t.true(held >= 0.93 * 2000 && held <= 0.985 * 2000, `${held} of 2000`);
});

const times = fc.array(fc.double({ min: 1, max: 1e5, noNaN: true }), {
  minLength: 12,
  maxLength: 40,
});

testProp(
  'a function that takes a thousand times as long everywhere changes nothing, and hosts add up',
  [fc.array(fc.tuple(times, times), { minLength: 2, maxLength: 6 })],
  (t, functions) => {
    const pairs = functions.map(([managed, control]) => ({
      managed: arm(managed),
      control: arm(control),
    }));
    const scaled = functions.map(([managed, control], i) => {
      const factor = i === 0 ? 1000 : 1;
      return {
        managed: arm(managed.map((time) => time * factor)),
        control: arm(control.map((time) => time * factor)),
      };
    });
    const [one, other] = [
      comparisonOf(comparisonSums(pairs)),
      comparisonOf(comparisonSums(scaled)),
    ];
    const added = comparisonOf(addComparisons(pairs.map((pair) => comparisonSums([pair]))));
    t.is(one.known, other.known);
    if (!one.known || !other.known || !added.known) return;
    t.true(
      near(one.logRatio, other.logRatio, 1e-6) &&
        near(one.standardError, other.standardError, 1e-6),
    );
    t.true(near(one.logRatio, added.logRatio, 1e-9) && near(one.high, added.high, 1e-6 * one.high));
    t.true(one.low <= one.ratio && one.ratio <= one.high);
  },
);
