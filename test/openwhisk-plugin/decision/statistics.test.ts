import test from 'ava';
import { DecayingHistogram } from '../../../openwhisk-plugin/decision/statistics.js';

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
