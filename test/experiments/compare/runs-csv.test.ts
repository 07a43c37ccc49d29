import test from 'ava';
import { METRICS } from '../../../experiments/compare/metrics.js';
import { columnName } from '../../../experiments/compare/runs-csv.js';

test('a column is named by its key and unit, unless the key says the unit', (t) => {
  const named = (key: string, unit: (typeof METRICS)[number]['unit']): string =>
    columnName({ ...METRICS[0]!, key, unit });
  t.is(named('response.mean', 'ms'), 'response.mean_ms');
  t.is(named('slowdown.mean', ''), 'slowdown.mean');
  t.is(named('cold.share', 'share'), 'cold.share');
  t.is(named('saved.seconds', 's'), 'saved.seconds');
});

test('no two metrics have one column', (t) => {
  t.is(new Set(METRICS.map(columnName)).size, METRICS.length);
});
