import test from 'ava';
import {
  CPU_BUCKETS,
  EMPTY_HISTOGRAM,
  MEMORY_BUCKETS,
  percentileOf,
  withSample,
} from '../../../agents/managers/usage-histogram.js';
import {
  boundsOf,
  needsUpdate,
  VPA_DEFAULT,
  VPA_INITIAL,
  VPA_PUBLISHED,
  vpaManager,
  vpaObserve,
} from '../../../agents/managers/vpa.js';
import type { Millis } from '../../../config/index.js';
import { amounts, observation } from '../../support/observations.js';
import { play } from './play.js';

const DAY = 24 * 3_600_000;
/** End of bucket b: first x (1.05^(b+1) - 1) / .05. */
const end = (first: number, b: number): number => (first * (1.05 ** (b + 1) - 1)) / 0.05;
const close = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.abs(b);

test('there are 176 buckets for either resource, the last one open', (t) => {
  // 1000 cores: floor(ln(1e6 x .05 / 10 + 1) / ln 1.05) = floor(174.57) = 174, one more for what is
  // above; memory alike.
  t.is(CPU_BUCKETS.buckets, 176);
  t.is(MEMORY_BUCKETS.buckets, 176);
});

test('a percentile is the end of its bucket', (t) => {
  // 100 millicores: ln(100 x .05 / 10 + 1) / ln 1.05 = ln 1.5 / ln 1.05 = 8.31: bucket 8, which
  // ends at 110.27.
  const one = withSample(EMPTY_HISTOGRAM, CPU_BUCKETS, 100, 0.1, 0 as Millis, DAY as Millis);
  t.true(close(percentileOf(one, CPU_BUCKETS, 0.9), end(10, 8)));
  t.true(Math.abs(end(10, 8) - 110.266) < 1e-3);
  t.is(percentileOf(EMPTY_HISTOGRAM, CPU_BUCKETS, 0.9), Number.NaN);
  t.is(
    percentileOf(
      withSample(one, CPU_BUCKETS, 100, -0.1, 0 as Millis, DAY as Millis),
      CPU_BUCKETS,
      0.9,
    ),
    Number.NaN,
  );
});

test('a sample counts half after a half-life, also across a move of the reference time', (t) => {
  for (const start of [0, 150 * DAY]) {
    let histogram = withSample(EMPTY_HISTOGRAM, CPU_BUCKETS, 5, 1e-9, 0 as Millis, DAY as Millis);
    histogram = withSample(histogram, CPU_BUCKETS, 100, 1, start as Millis, DAY as Millis);
    histogram = withSample(histogram, CPU_BUCKETS, 1000, 1, (start + DAY) as Millis, DAY as Millis);
    // Shares 1/3 and 2/3. 1000 millicores: ln 6 / ln 1.05 = 36.7: bucket 36.
    t.true(close(percentileOf(histogram, CPU_BUCKETS, 0.33), end(10, 8)));
    t.true(close(percentileOf(histogram, CPU_BUCKETS, 0.34), end(10, 36)));
  }
});

test('bounds: percentiles x 1.15, the wider the shorter the history', (t) => {
  const cpu = withSample(EMPTY_HISTOGRAM, CPU_BUCKETS, 100, 0.1, 0 as Millis, DAY as Millis);
  const at = (days: number, samples: number) =>
    boundsOf(
      cpu,
      CPU_BUCKETS,
      25,
      { ...VPA_INITIAL, first: 0 as Millis, samples },
      VPA_PUBLISHED,
      (days * DAY) as Millis,
    );
  // All percentiles 110.266 x 1.15 = 126.805. One day, 1440 samples: c = 1: lower x 1.001^-2 =
  // 126.55, upper x 2 = 253.61.
  t.deepEqual(at(1, 1440), { lower: 127, target: 127, upper: 254 });
  // Half the samples: c = .5: lower x 1.002^-2 = 126.30, upper x 3 = 380.4.
  t.deepEqual(at(1, 720), { lower: 127, target: 127, upper: 381 });
  t.deepEqual(at(0, 1), { lower: 25, target: 127, upper: Number.MAX_VALUE });
});

test('an update is due outside the bounds, or for a tenth after a while', (t) => {
  const bounds = { lower: 50, target: 100, upper: 200 };
  const worth = (held: number, age: number) => needsUpdate(age, held, bounds, 0, VPA_DEFAULT);
  t.true(worth(201, 0));
  t.true(worth(49, 0));
  t.false(worth(200, 299_999));
  t.true(worth(200, 300_000));
  t.false(worth(110, 300_000), '10 of 110 is no tenth');
});

test('the sizes change at the first moment that the bounds allow', (t) => {
  // 100 millicores and 128 MiB against 1000 and 256. Upper = 126.805 x (1 + 1 / c), c = min(age /
  // 600 s, samples / 60). 80 s, 9 samples: c = .133, upper 1077.8: within. 90 s, 10 samples: c =
  // .15, upper 972.2: outside, and memory is updated, too.
  const steady = { used: amounts(100, 100), peak: amounts(500, 128) };
  const steps = Array.from({ length: 10 }, (_, i) => ({ ...steady, now: i * 10_000 }));
  const { decisions } = play(vpaManager(VPA_DEFAULT), steps);
  t.deepEqual(
    decisions.slice(0, 9).map((d) => [d.cpu, d.memory]),
    new Array(9).fill([1000, 268435456]),
  );
  // 128 MiB: ln(134217728 x .05 / 1e7 + 1) / ln 1.05 = 10.52: bucket 10.
  t.is(decisions[9]?.cpu, 127 as never);
  t.is(decisions[9]?.memory, Math.ceil(end(1e7, 10) * 1.15) as never);
  t.deepEqual(decisions[9]?.actions, [0, -1, -1]);
});

test('one memory sample per interval: a higher peak replaces a lower one', (t) => {
  let state = VPA_INITIAL;
  for (const [at, mib] of [
    [0, 100],
    [1000, 200],
    [2000, 150],
  ]) {
    state = vpaObserve(state, observation({ peak: amounts(1, mib!) }), VPA_DEFAULT, at as Millis);
  }
  // 200 MiB: ln(209715200 x .05 / 1e7 + 1) / ln 1.05 = ln 2.048576 / ln 1.05 = 14.70: bucket 14
  // holds all the weight.
  t.true(close(percentileOf(state.memory, MEMORY_BUCKETS, 0.01), end(1e7, 14)));
  t.is(state.samples, 3);
});

test('an OOM kill is a sample of its own and is answered at once', (t) => {
  // max(1.2 x 256 MiB, 256 MiB + 100 MiB) = 373293056: ln 2.86646528 / ln 1.05 = 21.58: bucket 21.
  // Ten kills are no more than one.
  const oom = { oomKills: 1, activations: 0, peak: amounts(0, 0) };
  const { decisions } = play(vpaManager(VPA_DEFAULT), [
    { peak: amounts(500, 64) },
    ...new Array(10).fill(oom),
  ]);
  for (const decision of decisions.slice(1))
    t.is(decision.memory, Math.ceil(end(1e7, 21) * 1.15) as never);
});
