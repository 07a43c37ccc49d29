import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { gleaner } from '../support/gleaner.js';

test('reproduce concurrency --quick writes its page, and exits with 1 after a miss', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-reproduce-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const args = ['reproduce', 'concurrency', '--quick', '--out', folder, '--output', 'json'];
  const { code, out, err } = await gleaner(args);
  const { rows, verdicts } = JSON.parse(out) as {
    rows: { surface: string; contender: string; found: number }[];
    verdicts: { finds: boolean; beatsConstant: boolean }[];
  };
  t.is(rows.length, 5 * 4);
  t.is(code, verdicts.every(({ finds, beatsConstant }) => finds && beatsConstant) ? 0 : 1, err);
  t.is(
    err.split('missed: ').length - 1,
    verdicts.filter(({ finds }) => !finds).length +
      verdicts.filter(({ beatsConstant }) => !beatsConstant).length,
  );
  const page = readFileSync(join(folder, 'concurrency.md'), 'utf8');
  for (const { surface, contender, found } of rows)
    t.true(page.includes(`| ${surface} | ${contender} | ${found} of 5 |`));
  t.true(page.includes('`gleaner reproduce concurrency --quick`'));
});

test('reproduce concurrency with one seed decides no goal', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-reproduce-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const args = ['reproduce', 'concurrency', '--quick', '--seeds', '1', '--out', folder];
  const { code, err } = await gleaner(args);
  t.is(code, 0, err);
  const page = readFileSync(join(folder, 'concurrency.md'), 'utf8');
  t.regex(page, /^- Undecided: 1 of at least 5 seeds\.$/m);
  t.false(page.includes('missed: '));
});

test('gleaner reproduce with an unknown study is wrong usage', async (t) => {
  t.is((await gleaner(['reproduce', 'everything'])).code, 2);
});

test('reproduce right-sizing with one seed has a row for each way, decides no goal', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-reproduce-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const args = [
    'reproduce',
    'right-sizing',
    '--quick',
    '--seeds',
    '1',
    '--out',
    folder,
    '--output',
    'json',
  ];
  const { code, out, err } = await gleaner(args);
  const { rows } = JSON.parse(out) as { rows: { arm: { name: string }; ooms: number }[] };
  t.is(code, 0, err);
  t.false(err.includes('missed: '), err);
  const page = readFileSync(join(folder, 'right-sizing.md'), 'utf8');
  for (const { arm } of rows) t.true(page.includes(`| ${arm.name} |`));
  t.true(page.includes('`gleaner reproduce right-sizing --quick --seeds 1`'));
  t.regex(page, /^- Undecided: 1 of at least 5 seeds\.$/m);
  t.false(page.includes('Missed'));
});

test('reproduce faasrm with two seeds shows published figures, decides no goal', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-reproduce-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const args = [
    'reproduce',
    'faasrm',
    '--quick',
    '--seeds',
    '2',
    '--out',
    folder,
    '--output',
    'json',
  ];
  const { code, out, err } = await gleaner(args);
  const { published, corrected } = JSON.parse(out) as {
    published: {
      functions: number;
      contender: string;
      figures: Record<string, { mean: number }>;
    }[];
    corrected: {
      load: number;
      memoryLoad: number;
      rows: { contender: string; values: Record<string, number[]> }[];
    }[];
  };
  // [Freyr-sim] at 50 functions: any choice in the mask has this, learned or not.
  const learned = published.find(
    ({ functions, contender }) => functions === 50 && contender === 'faasrm',
  )!;
  t.true(learned.figures['rfet.mean']!.mean > 0.887 && learned.figures['rfet.mean']!.mean < 0.888);
  t.deepEqual(
    corrected[0]!.rows.map(({ contender }) => contender),
    [
      'fixed',
      'fixed, other arrivals',
      'greedy',
      'ensure',
      'libra',
      'faasrm',
      'smallest-in-range',
      'random-in-range',
      'largest-in-range',
    ],
  );
  t.true(
    corrected[0]!.rows.every(({ values }) => values['slowdown.mean']!.every((value) => value >= 1)),
  );
  const page = readFileSync(join(folder, 'faasrm.md'), 'utf8');
  t.is(code, 0, err);
  t.false(err.includes('missed: '), err);
  for (const text of [
    '16.91',
    '38.8 %',
    'offered load',
    '`gleaner reproduce faasrm --quick --seeds 2`',
  ])
    t.true(page.includes(text), text);
});
