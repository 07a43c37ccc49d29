import { setTimeout } from 'node:timers/promises';
import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { MetricSet } from '../../../runtime/metrics/metric-set.js';
import { PROCESS_METRICS } from '../../../runtime/metrics/table.js';
import { OTHER, TopFunctions } from '../../../runtime/metrics/top-functions.js';
import { seriesOf } from './exposition.js';

test('a running total becomes a counter that grows, also after a restart', async (t) => {
  const set = new MetricSet('hook');
  const read = async (): Promise<number | undefined> =>
    seriesOf(await set.registry.metrics()).get('gleaner_drift_total');
  for (const total of [0, 5, 9]) set.grow('gleaner_drift_total', total);
  t.is(await read(), 9);
  // A restarted source: 9, then 2 of a new life, is 11 in all.
  set.grow('gleaner_drift_total', 2);
  t.is(await read(), 11);
});

test('an unknown value has no series, also if it was known before', async (t) => {
  const set = new MetricSet('agents');
  set.set('gleaner_meanfield_staleness_seconds', 3);
  t.is(seriesOf(await set.registry.metrics()).get('gleaner_meanfield_staleness_seconds'), 3);
  set.set('gleaner_meanfield_staleness_seconds', Number.NaN);
  t.false(seriesOf(await set.registry.metrics()).has('gleaner_meanfield_staleness_seconds'));
});

test('a histogram kept elsewhere is shown cumulative, with its sum and count', async (t) => {
  const set = new MetricSet('hook');
  set.histogram(
    'gleaner_update_duration_seconds',
    { bounds: [0.1, 1], counts: [2, 3, 1], sum: 4.5 },
    { resource: 'memory' },
  );
  const series = seriesOf(await set.registry.metrics());
  const at = (le: string) =>
    series.get(`gleaner_update_duration_seconds_bucket{resource="memory",le="${le}"}`);
  // 2, 2 + 3, 2 + 3 + 1.
  t.deepEqual([at('0.1'), at('1'), at('+Inf')], [2, 5, 6]);
  t.is(series.get('gleaner_update_duration_seconds_sum{resource="memory"}'), 4.5);
  t.is(series.get('gleaner_update_duration_seconds_count{resource="memory"}'), 6);
});

test('CPU time, heap and delays of the event loop are those of the process', async (t) => {
  const set = new MetricSet('hook');
  const read = async () => seriesOf(await set.registry.metrics());
  const first = await read();
  const names = [...first.keys()].filter((name) => !name.startsWith('gleaner_'));
  t.deepEqual(names.sort(), [...PROCESS_METRICS].sort());
  t.true(first.get('nodejs_heap_size_used_bytes')! > 1e6);
  // Delays are known from the second look of Node's monitor on.
  await setTimeout(120);
  const begun = process.cpuUsage();
  while (process.cpuUsage(begun).user < 120_000);
  await setTimeout(60);
  const next = await read();
  const cpu = 'process_cpu_seconds_total';
  t.true(next.get(cpu)! - first.get(cpu)! >= 0.12);
  // The event loop stood still for as long.
  t.true(next.get('nodejs_eventloop_lag_p99_seconds')! > 0.06);
});

test('the busiest functions have labels of their own, the others share one', (t) => {
  const top = new TopFunctions(2);
  const seen = (calls: Record<string, number>, now: number): void =>
    top.update(
      Object.entries(calls).map(([action, activations]) => ({ action, activations })),
      now,
    );
  seen({ '/g/a': 5, '/g/b': 9, '/g/c': 7 }, 0);
  t.deepEqual(
    ['/g/a', '/g/b', '/g/c'].map((action) => top.labelOf(action)),
    [OTHER, '/g/b', '/g/c'],
  );
  // However busy: a label stays where it is while its function is called.
  seen({ '/g/a': 5000, '/g/b': 10, '/g/c': 8 }, 3000);
  t.is(top.labelOf('/g/a'), OTHER);
  // b was last called at 3000 s, and c at 3000 s: an hour later both may go, and one does.
  seen({ '/g/a': 5001, '/g/b': 11, '/g/c': 8 }, 6600);
  t.deepEqual(
    ['/g/a', '/g/b', '/g/c'].map((action) => top.labelOf(action)),
    ['/g/a', '/g/b', OTHER],
  );
});

test('no function has a label if none is wanted', (t) => {
  const top = new TopFunctions(0);
  top.update([{ action: '/g/a', activations: 1 }], 0);
  t.is(top.labelOf('/g/a'), OTHER);
});

/**
 * Scrapes; in each, how often each of five functions was called since the one before, and how many
 * seconds passed.
 */
const scrapes = fc.array(
  fc.record({ calls: fc.array(fc.nat(20), { minLength: 5, maxLength: 5 }), seconds: fc.nat(8000) }),
  { minLength: 1, maxLength: 20 },
);

testProp(
  'whatever moves between labels: no counter falls, and what is counted is what happened',
  [scrapes],
  async (t, list) => {
    const name = 'gleaner_activations_total';
    const set = new MetricSet('hook');
    let ended = 0;
    const top = new TopFunctions(2, (action) => {
      ended += before.get(`${name}{function="${action}"}`) ?? 0;
      set.remove(name, { function: action });
    });
    const totals = [0, 0, 0, 0, 0];
    let now = 0;
    let before = new Map<string, number>();
    for (const { calls, seconds } of list) {
      now += seconds;
      calls.forEach((count, i) => {
        totals[i]! += count;
      });
      const functions = totals.map((activations, i) => ({ action: `/g/${i}`, activations }));
      top.update(functions, now);
      for (const { action, activations } of functions)
        set.grow(name, activations, { function: top.labelOf(action) }, action);
      const series = new Map(
        [...seriesOf(await set.registry.metrics())].filter(([key]) => key.startsWith(name)),
      );
      t.true(series.size <= 3);
      for (const [key, value] of before)
        if (series.has(key)) t.true(series.get(key)! >= value, key);
      // What a series that ended had counted is gone from the page, as its name says, and nothing
      // else is.
      const shown = [...series.values()].reduce((sum, value) => sum + value, 0);
      t.is(
        shown + ended,
        totals.reduce((sum, value) => sum + value, 0),
      );
      before = series;
    }
  },
);
