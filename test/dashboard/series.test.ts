import test from 'ava';
import { Series } from '../../dashboard/server/series.js';

test('a series keeps the newest rows in their order, however often it has grown', (t) => {
  const capacity = 20;
  const series = new Series(['at', 'value'], capacity);
  t.is(series.last(), null);
  for (let n = 1; n <= 47; n++) {
    series.push({ at: n, value: 2 * n });
    t.deepEqual(series.last(), [n, 2 * n]);
    t.is(series.length, Math.min(n, capacity));
    const first = Math.max(1, n - capacity + 1);
    const expected = Array.from({ length: n - first + 1 }, (_, i) => first + i);
    t.deepEqual(series.columns(), { at: expected, value: expected.map((at) => 2 * at) });
  }
});
