import test from 'ava';
import type { RunSummary } from '../../simulator/index.js';
import { gleaner } from './gleaner.js';

const SAMPLE = 'test/data/azure-2019-sample';
const published = ['simulate', '--mode', 'freyr-2021', '--workload', SAMPLE];
const small = ['simulate', '--functions', '20', '--load', '0.7', '--hosts', '2', '--cores', '2'];

test("the published simulator's figures come out as JSON", async (t) => {
  const { code, out } = await gleaner([...published, '--functions', '10', '--manager', 'greedy', '--output', 'json']);
  t.is(code, 0);
  const summary = JSON.parse(out) as Record<string, number>;
  t.is(summary.activations, 420);
  t.true(Math.abs(summary['rfet.mean']! - 1.6252) <= 3e-4);
  for (const name of ['rfet.p99', 'rfet.max', 'harvested.share', 'accelerated.share'])
    t.is(typeof summary[name], 'number');
});

test('and as a table, of the sample that comes with the product', async (t) => {
  const { code, out } = await gleaner(['simulate', '--mode', 'freyr-2021']);
  t.is(code, 0);
  t.regex(out, /rfet\.mean +1\n/);
});

test('one run, twice the same bytes', async (t) => {
  const args = [...small, '--manager', 'short-first', '--output', 'json'];
  const [one, two] = await Promise.all([gleaner(args), gleaner(args)]);
  t.is(one.code, 0, one.err);
  t.is(one.out, two.out);
  const run = JSON.parse(one.out) as RunSummary;
  t.deepEqual([run.weightPolicy, run.mode, run.hosts, run.functions], ['short-first', 'weight', 2, 20]);
  t.is(
    run.activations,
    Object.values(run.outcomes).reduce((sum, count) => sum + count, 0),
  );
});

test('a summary for people says what was played, how it went and who paid', async (t) => {
  const { code, out, err } = await gleaner([...small, '--mode', 'quota', '--manager', 'greedy']);
  t.is(code, 0, err);
  t.is(err, '', 'no bar without a terminal');
  for (const text of [
    /workload azure-sample.*offered load 0\.700 on 4 cores/,
    /greedy in quota mode/,
    /RESPONSE|response, ms/,
    /worst function \/guest\//,
  ])
    t.regex(out, text);
});

test('a policy that cannot act in a mode is said to', async (t) => {
  const { code, err } = await gleaner([...small, '--mode', 'weight', '--manager', 'largest-in-range', '-o', 'json']);
  t.is(code, 0);
  t.regex(err, /largest-in-range decides in quota mode only/);
});

test('wrong usage ends with 2, a missing trace with 1', async (t) => {
  const nobody = await gleaner([...published, '--manager', 'nobody']);
  t.is(nobody.code, 2);
  t.regex(nobody.err, /one of: fixed, greedy, ensure/);
  for (const args of [
    ['--functions', '0'],
    ['--load', 'much'],
    ['--memory', '1', '--user-memory', '2'],
    ['--manager', 'nobody'],
  ])
    t.is((await gleaner(['simulate', ...args])).code, 2, args.join(' '));
  for (const mode of ['weight', 'freyr-2021'])
    t.is((await gleaner(['simulate', '--mode', mode, '--workload', 'no/such/folder'])).code, 1);
});
