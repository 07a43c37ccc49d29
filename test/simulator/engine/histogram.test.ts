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
