import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Comparison } from '../../../../experiments/compare/index.js';
import { gleaner, type Ran } from '../../../support/gleaner.js';

const SMALL = [
  '--workloads',
  'azure-sample',
  '--functions',
  '20',
  '--hosts',
  '2',
  '--cores',
  '4',
  '--memory',
  '16384',
  '--user-memory',
  '8192',
];

async function compare(
  t: ExecutionContext,
  ...args: string[]
): Promise<{ ran: Ran; read: (file: string) => string }> {
  const out = mkdtempSync(join(tmpdir(), 'gleaner-compare-'));
  t.teardown(() => rmSync(out, { recursive: true }));
  const ran = await gleaner(['compare', ...SMALL, '--out', out, ...args]);
  return { ran, read: (file) => readFileSync(join(out, file), 'utf8') };
}

test('the same request writes the same bytes on 1 worker and on 2', async (t) => {
  const request = ['--managers', 'all', '--seeds', '2', '--loads', '0.7', '--density', '4096'];
  const [one, two] = await Promise.all([
    compare(t, ...request, '--workers', '1'),
    compare(t, ...request, '--workers', '2'),
  ]);
  t.is(one.ran.code, 0, one.ran.err);
  t.is(two.ran.code, 0, two.ran.err);
  for (const file of ['comparison.json', 'runs.csv', 'report.html'])
    t.is(two.read(file), one.read(file), file);
  const comparison = JSON.parse(one.read('comparison.json')) as Comparison;
  t.is(
    comparison.command,
    'gleaner compare --managers all --seeds 2 --workloads azure-sample --functions 20 --loads ' +
      '0.7 --density 4096 --hosts 2 --cores 4 --memory 16384 --user-memory 8192',
  );
  t.deepEqual(
    comparison.sections.flatMap(({ beatOracle }) => beatOracle),
    [],
  );
  for (const { rows, kind } of comparison.sections) {
    for (const { name, figures } of rows) t.true(figures['service.mean']!.mean >= 1, name);
    if (kind === 'load') t.true(rows.length > 10);
  }
  t.regex(
    one.ran.out,
    /azure-sample, weight mode, load 0\.7 \(offered load 0\.\d+; the oracle has 1\)/,
  );
});

test('json is the comparison itself', async (t) => {
  const { ran, read } = await compare(
    t,
    '--managers',
    'fixed',
    '--seeds',
    '1',
    '--loads',
    '0.5',
    '--modes',
    'weight',
    '--no-density',
    '-o',
    'json',
  );
  t.is(ran.code, 0, ran.err);
  t.deepEqual(JSON.parse(ran.out), JSON.parse(read('comparison.json')));
  t.regex(ran.err, /One seed has no intervals/);
});

for (const args of [
  ['--managers', 'unknown'],
  ['--loads', '0.5,none'],
  ['--loads', '0'],
  ['--modes', 'weight,other'],
  ['--seeds', '0'],
  ['--memory', '1024', '--user-memory', '2048'],
])
  test(`wrong usage ends with 2: gleaner compare ${args.join(' ')}`, async (t) => {
    const { code, out, err } = await gleaner(['compare', ...args]);
    t.is(code, 2, err);
    t.is(out, '');
  });
