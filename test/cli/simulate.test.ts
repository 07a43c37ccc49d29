import test from 'ava';
import { gleaner } from './gleaner.js';

const SAMPLE = 'test/data/azure-2019-sample';
const published = ['simulate', '--mode', 'freyr-2021', '--workload', SAMPLE];

test("the published simulator's figures come out as JSON", async (t) => {
  const { code, out } = await gleaner([...published, '--functions', '10', '--manager', 'greedy', '--output', 'json']);
  t.is(code, 0);
  const summary = JSON.parse(out) as Record<string, number>;
  t.is(summary.activations, 420);
  t.true(Math.abs(summary['rfet.mean']! - 1.6252) <= 3e-4);
  for (const name of ['rfet.p99', 'rfet.max', 'harvested.share', 'accelerated.share'])
    t.is(typeof summary[name], 'number');
});

test('and as a table', async (t) => {
  const { code, out } = await gleaner(published);
  t.is(code, 0);
  t.regex(out, /rfet\.mean +1\n/);
});

test('wrong usage ends with 2, a missing trace with 1', async (t) => {
  const nobody = await gleaner([...published, '--manager', 'nobody']);
  t.is(nobody.code, 2);
  t.regex(nobody.err, /one of: fixed, greedy, ensure/);
  t.is((await gleaner([...published, '--functions', '0'])).code, 2);
  t.is((await gleaner(['simulate', '--workload', 'no/such/folder'])).code, 1);
});
