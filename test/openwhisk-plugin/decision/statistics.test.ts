import test from 'ava';
import { Doubles } from '../../../config/index.js';
import { DurationStatistics } from '../../../openwhisk-plugin/decision/arm-statistics.js';
import {
  DecayingHistogram,
  DecayingMean,
  DecayingPeak,
  decay,
} from '../../../openwhisk-plugin/decision/statistics.js';

test('after a percentile was asked for, the next sample counts in it', (t) => {
  const histogram = new DecayingHistogram();
  histogram.add(0.1, 0, 1000);
  // The first bucket's upper edge is .1 ms.
  t.is(histogram.percentile(0.5), 0.1);
  t.is(histogram.percentile(0.5), 0.1);
  histogram.add(1000, 0, 1000);
  histogram.add(1000, 0, 1000);
  // Two of three samples are 1000 ms: at most 5 % too high.
  t.true(histogram.percentile(0.5) >= 1000 && histogram.percentile(0.5) < 1050);
  t.is(histogram.percentile(0.3), 0.1);
});

test('samples that are no numbers, or negative, change nothing', (t) => {
  const mean = new DecayingMean();
  const peak = new DecayingPeak();
  const histogram = new DecayingHistogram();
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    mean.add(bad, 0, 1000);
    peak.add(bad, 0, 1000);
    peak.raise(bad, 0, 1000);
    histogram.add(bad, 0, 1000);
  }
  peak.add(-1, 0, 1000);
  peak.raise(-1, 0, 1000);
  histogram.add(-1, 0, 1000);
  t.deepEqual([mean.weight, peak.count, histogram.count, peak.read(0, 1000)], [0, 0, 0, 0]);
  t.is(mean.mean, Number.NaN);
  t.is(histogram.percentile(0.5), Number.NaN);
  peak.add(0, 0, 1000);
  histogram.add(0, 0, 1000);
  t.deepEqual([peak.count, histogram.count], [1, 1], 'no use is a sample');
});

test('a share decays by its own half-life, and not back in time', (t) => {
  t.deepEqual([decay(1000, 1000), decay(1000, 500), decay(1000, 1000)], [0.5, 0.25, 0.5]);
  t.deepEqual([decay(0, 1000), decay(-1000, 1000), decay(Number.NaN, 1000)], [1, 1, 1]);
});

test('a histogram that began late weighs later samples by the time between', (t) => {
  const histogram = new DecayingHistogram();
  // Three old ones against one that is two half-lives younger and weighs four.
  for (let i = 0; i < 3; i++) histogram.add(10, 5000, 1000);
  histogram.add(1000, 7000, 1000);
  t.true(histogram.percentile(0.5) >= 1000);
  t.true(histogram.percentile(0.4) <= 10.5);
});

test('after two thousand half-lives a histogram still counts', (t) => {
  const histogram = new DecayingHistogram();
  histogram.add(10, 0, 1);
  histogram.add(500, 2000, 1);
  const value = histogram.percentile(0.5);
  t.true(value >= 500 && value <= 525, `${value}`);
});

test('a value at the edge of a bucket is in that bucket', (t) => {
  const histogram = new DecayingHistogram();
  const edge = 0.1 * 1.05 ** 40;
  histogram.add(edge, 0, 1000);
  t.true(Math.abs(histogram.percentile(1) - edge) < 1e-9);
});

test('statistics that share a block answer as those with their own', (t) => {
  const size =
    DecayingPeak.SIZE + DecayingMean.SIZE + DecayingHistogram.SIZE + DurationStatistics.SIZE;
  const played = (block?: Doubles) => {
    const peak = new DecayingPeak(block);
    const mean = new DecayingMean(block);
    const histogram = new DecayingHistogram(block);
    const durations = new DurationStatistics(block);
    // Longer than the peak's eight newest runs.
    for (let i = 1; i <= 40; i++) {
      const value = (i * 7) % 40;
      peak.add(value, i, 100);
      mean.add(value, i, 100);
      histogram.add(value, i, 100);
      durations.add(value, i, 100);
    }
    const { mean: average, weight, count } = durations;
    const answers = [peak.read(50, 100), peak.count, mean.mean, histogram.percentile(0.9)];
    peak.forget();
    durations.forget();
    const forgotten = [peak.read(50, 100), peak.count, durations.weight];
    return [...answers, average, weight, count, ...forgotten, mean.weight, histogram.count];
  };
  t.deepEqual(played(new Doubles(size)), played());
  t.is(played().at(-1), 40);
  const full = new Doubles(size - 1);
  t.throws(() => played(full), { instanceOf: RangeError });
});
