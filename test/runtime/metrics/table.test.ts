import test from 'ava';
import { METRICS, type MetricRow } from '../../../runtime/metrics/table.js';

test('the name of a metric ends in _total if and only if it is a counter', (t) => {
  for (const [name, { type }] of Object.entries(METRICS) as [string, MetricRow][])
    t.is(name.endsWith('_total'), type === 'counter', name);
});
