import test from 'ava';
import { Histograms } from '../../../simulator/engine/histogram.js';

test('samples above a value, to the width of a bucket; rows are apart', (t) => {
  const histograms = new Histograms(2, 20);
  for (let value = 1; value <= 1000; value++) histograms.add(1, value);
  histograms.add(0, 5000);
  // A bucket is a sixteenth of an octave, at most 6.25 % wide; a sample at its lower edge counts as
  // above.
  for (const value of [10, 250, 512, 900])
    t.true(Math.abs(histograms.above(1, value) - (1000 - value)) <= 1 + 0.07 * value);
  t.is(histograms.above(1, 2000), 0);
  t.is(histograms.above(1, 0), 1000);
  t.is(histograms.above(0, 1000), 1);
});

test('each octave of each row has counts of its own', (t) => {
  const rows = 50;
  const histograms = new Histograms(rows, 20);
  // Row r has r + 1 samples at the lower edge of each octave: 1, 2, 4, ...
  for (let octave = 0; octave < 20; octave++)
    for (let row = 0; row < rows; row++)
      for (let i = 0; i <= row; i++) histograms.add(row, 2 ** octave);
  for (let row = 0; row < rows; row++) {
    t.is(histograms.count(row), 20 * (row + 1));
    // A sample at a lower edge counts as above it.
    t.is(histograms.above(row, 2 ** 12), 8 * (row + 1));
  }
});

test('quantiles pass over octaves without a value', (t) => {
  const histograms = new Histograms(1, 20);
  histograms.addAll(new Int32Array(4), Float64Array.of(1, 1, 1, 2 ** 18), 4);
  // Three of four samples lie in the first bucket, 1 to 17/16, of which p50 is two thirds.
  t.is(histograms.quantile(0, 0.5), 1 + 2 / 48);
  // The last one is all of its bucket, 2^18 to 2^18 x 17/16.
  t.is(histograms.quantile(0, 1), 2 ** 18 + 2 ** 14);
  t.is(histograms.count(0), 4);
});
