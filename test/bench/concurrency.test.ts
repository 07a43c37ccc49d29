import test from 'ava';
import { shapeOf as concurrencyShape } from '../../bench/concurrency/shape.js';

const figures = (...cells: [number, number, number][]) =>
  cells.map(([limit, throughput, success]) => ({ limit, throughput, success }));

test('activations that wait: more of them at a higher limit, up to a plateau', (t) => {
  const rising = figures(
    [10, 200, 1],
    [70, 1400, 1],
    [190, 2000, 1],
    [250, 2100, 1],
    [310, 1900, 1],
  );
  t.true(concurrencyShape('sleep', rising).holds);
  // 1000 / 500 = 2 is less than four times.
  t.false(
    concurrencyShape('sleep', figures([10, 500, 1], [70, 900, 1], [190, 1000, 1], [310, 1000, 1]))
      .holds,
  );
  // The last three differ by 2100 / 1000.
  t.false(
    concurrencyShape('sleep', figures([10, 200, 1], [70, 1400, 1], [190, 2100, 1], [310, 1000, 1]))
      .holds,
  );
});

test('activations that compute: the limit makes no difference', (t) => {
  t.true(concurrencyShape('prime', figures([10, 500, 1], [310, 410, 1])).holds);
  t.false(concurrencyShape('prime', figures([10, 500, 1], [310, 390, 1])).holds);
});

test('activations that fill memory: best at the lowest limit, and failing above some', (t) => {
  t.true(concurrencyShape('bloat', figures([10, 130, 1], [30, 120, 0.85], [310, 20, 0.2])).holds);
  t.false(
    concurrencyShape('bloat', figures([10, 130, 1], [30, 140, 1], [310, 20, 0.2])).holds,
    'best at 30',
  );
  t.false(
    concurrencyShape('bloat', figures([10, 130, 1], [30, 120, 1], [310, 120, 1])).holds,
    'nothing fails',
  );
  t.false(
    concurrencyShape('bloat', figures([10, 130, 0.99], [310, 20, 0.2])).holds,
    'the lowest fails, too',
  );
});
