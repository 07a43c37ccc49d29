import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { gleanerProgram } from '../../cli/program.js';
import { UsageError } from '../../config/index.js';
import type { Comparison } from '../../experiments/compare/index.js';
import { gleaner } from '../support/gleaner.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const HOSTS = ['--cores', '2', '--memory', '16384', '--user-memory', '8192'];
const SMALL = ['--workloads', 'profiles-12:3@1', '--loads', '0.7', ...HOSTS];

/** A policy of one episode, which has barely begun to learn. */
async function trained(folder: string, ...options: string[]): Promise<string> {
  const { code, err } = await gleaner([
    ...['train', '--episodes', '1', ...SMALL, ...options, '--out', folder],
  ]);
  if (code !== 0) throw new Error(err);
  return folder;
}

test('trained policies are compared under their names, each in its mode', async (t) => {
  const root = temporaryFolder('compare-policy');
  const [trial, alone, scored] = await Promise.all([
    trained(join(root, 'my policy')),
    trained(join(root, 'alone'), '--manager', 'single-agent', '--mode', 'quota'),
    trained(join(root, 'scored'), '--manager', 'faasrm'),
  ]);
  const policies = [`trial=${trial}`, `alone_1=${alone}`, `scored=${scored}`];
  const out = join(root, 'out');
  const ran = await gleaner([
    ...['compare', ...SMALL, '--activations', '1000', '--seeds', '1', '--no-density'],
    ...['--managers', 'fixed', ...policies.flatMap((one) => ['--policy', one]), '--out', out],
  ]);
  t.is(ran.code, 0, ran.err);
  const read = (folder: string, file: string): string => readFileSync(join(folder, file), 'utf8');
  const { command, sections } = JSON.parse(read(out, 'comparison.json')) as Comparison;
  const rows = (mode: string) =>
    new Map(
      sections
        .find(({ setting }) => setting.mode === mode)!
        .rows.map((row) => [row.name, row] as const),
    );
  const [weight, quota] = [rows('weight'), rows('quota')];
  t.deepEqual(
    [weight.has('trial'), weight.has('alone_1'), weight.has('scored')],
    [true, false, false],
  );
  t.deepEqual([quota.has('trial'), quota.has('alone_1'), quota.has('scored')], [false, true, true]);
  t.like(weight.get('trial'), { manager: 'simppo', policy: 'deadline-first' });
  t.like(quota.get('alone_1'), { manager: 'single-agent', policy: 'target' });
  t.like(quota.get('scored'), { manager: 'fixed', policy: 'faasrm' });
  t.regex(read(out, 'runs.csv'), /,trial,1,/);
  t.regex(read(out, 'report.html'), /<td>trial<\/td>/);
  t.regex(ran.out, /^alone_1 /m);
  t.true(command.includes(`--policy 'trial=${trial}' --policy alone_1=${alone}`), command);

  // The command that the comparison names repeats it.
  const again = join(root, 'again');
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, word]) => quoted ?? word!,
  );
  const repeated = await gleaner([...words.slice(1), '--workers', '1', '--out', again]);
  t.is(repeated.code, 0, repeated.err);
  for (const file of ['comparison.json', 'runs.csv', 'report.html'])
    t.is(read(again, file), read(out, file), file);
});

test('the kept runs of all parts give the bytes of an undivided comparison', async (t) => {
  const root = temporaryFolder('compare-parts');
  const compare = (out: string, ...options: string[]) =>
    gleaner([
      ...['compare', ...SMALL, '--activations', '500', '--seeds', '2', '--managers', 'greedy'],
      ...['--modes', 'quota', '--no-density', '--out', join(root, out), ...options],
    ]);
  for (const part of ['1', '2']) {
    const { code, out, err } = await compare(part, '--part', `${part}/2`);
    t.is(code, 0, err);
    // fixed three times, default, the three baselines and greedy, with one of two seeds.
    t.is(out, `8 of 16 runs are kept\n${join(root, part, 'runs')}\n`);
    cpSync(join(root, part, 'runs'), join(root, 'joined', 'runs'), { recursive: true });
  }
  t.is(readdirSync(join(root, 'joined', 'runs')).length, 16);
  const [joined, whole] = await Promise.all([compare('joined', '--keep'), compare('whole')]);
  t.is(joined.code, 0, joined.err);
  t.is(whole.code, 0, whole.err);
  for (const file of ['comparison.json', 'runs.csv', 'report.html'])
    t.is(
      readFileSync(join(root, 'joined', file), 'utf8'),
      readFileSync(join(root, 'whole', file), 'utf8'),
      file,
    );
  t.false(existsSync(join(root, 'whole', 'runs')), 'nothing is kept unless asked for');
});

test('a part of the workloads is compared, and its command names it', async (t) => {
  const out = join(temporaryFolder('compare-workload-part'), 'out');
  const ran = await gleaner([
    ...['compare', ...SMALL, '--workload-part', 'validation', '--activations', '300'],
    ...['--seeds', '1', '--managers', 'fixed', '--modes', 'weight', '--no-density', '--out', out],
  ]);
  t.is(ran.code, 0, ran.err);
  const text = readFileSync(join(out, 'comparison.json'), 'utf8');
  const { command, sections } = JSON.parse(text) as Comparison;
  t.regex(command, / --workload-part validation /);
  t.is(sections[0]!.setting.name, 'profiles-12:3 validation, weight mode, load 0.7');
  const wrong = await gleaner(['compare', '--workload-part', 'half', '--out', out]);
  t.is(wrong.code, 2);
  t.regex(wrong.err, /train, validation, test/);
  const without = await gleaner([
    ...['compare', '--workloads', 'profiles-12:3,change:load', '--workload-part', 'test'],
    ...['--out', join(out, 'none')],
  ]);
  t.is(without.code, 1);
  t.regex(without.err, /change: has no parts/);
});

for (const part of ['0/2', '3/2', '1', '1/0', '1/2/3', 'a/b', '1.5/2'])
  test(`wrong usage: --part ${part}`, async (t) => {
    const words = (await gleanerProgram('compare')).parseAsync(['compare', `--part=${part}`], {
      from: 'user',
    });
    const error = await t.throwsAsync(words, { instanceOf: UsageError });
    t.regex(error!.message, /must be I\/N with I from 1 to N/);
  });

test('a policy that cannot be compared is one error, before anything runs', async (t) => {
  const root = temporaryFolder('compare-refused');
  const [good, damaged] = await Promise.all(
    ['good', 'damaged'].map((name) => trained(join(root, name))),
  );
  const weights = readdirSync(damaged!).find((file) => file.endsWith('.bin'))!;
  const bytes = readFileSync(join(damaged!, weights));
  bytes[100]! ^= 1;
  writeFileSync(join(damaged!, weights), bytes);
  const missing = join(root, 'missing');
  const out = join(root, 'out');
  const shape = /NAME has 1 to 40 letters, digits/;
  const cases: [string[], RegExp][] = [
    [['trial'], /must be NAME=FOLDER/],
    [['trial='], /must be NAME=FOLDER/],
    [[`=${good}`], shape],
    [[`my policy=${good}`], shape],
    [[`trial+gittins=${good}`], shape],
    [[`${'x'.repeat(41)}=${good}`], shape],
    [[`simppo=${good}`], /another --policy is called 'simppo'/],
    [[`configured=${good}`], /another --policy is called 'configured'/],
    [[`trial=${good}`, `trial=${good}`], /another --policy is called 'trial'/],
    [[`trial=${good}`, `other=${missing}`], /--policy other: .*missing: there is no checkpoint/],
    [[`trial=${damaged}`], /--policy trial: .*damaged\/model\.json is damaged: its digest/],
    [['trial=agents/simppo/shipped/simppo/weight'], /--policy trial: .*names no training/],
    [[`trial=${good}`, '--modes=quota'], /--policy trial: .*weight mode, which --modes leaves out/],
  ];
  const wordsOf = (policies: readonly string[]): string[] => [
    ...['compare', ...SMALL, '--out', out],
    ...policies.map((one) => (one.startsWith('--') ? one : `--policy=${one}`)),
  ];
  for (const [policies, expected] of cases) {
    const words = (await gleanerProgram('compare')).parseAsync(wordsOf(policies), { from: 'user' });
    const error = await t.throwsAsync(words, { instanceOf: UsageError });
    t.regex(error!.message, expected);
  }
  const { code, out: printed, err } = await gleaner(wordsOf([`trial=${missing}`]));
  t.deepEqual([code, printed], [2, '']);
  t.is(err.match(/^gleaner: /gm)!.length, 1, err);
  t.false(existsSync(out));
});
