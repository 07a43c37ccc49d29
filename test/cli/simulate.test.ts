import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import type { RunSummary } from '../../simulator/engine/index.js';
import { gleaner } from '../support/gleaner.js';
import { OWN_WORKLOAD } from '../support/own-workload.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const SAMPLE = 'test/data/azure-2019-sample';
const published = ['simulate', '--mode', 'freyr-2021', '--workload', SAMPLE];
const small = ['simulate', '--functions', '20', '--load', '0.7', '--hosts', '2', '--cores', '2'];

test("the published simulator's figures as JSON", async (t) => {
  const { code, out } = await gleaner([
    ...published,
    '--functions',
    '10',
    '--manager',
    'greedy',
    '--output',
    'json',
  ]);
  t.is(code, 0);
  const summary = JSON.parse(out) as Record<string, number>;
  t.is(summary.activations, 420);
  t.true(Math.abs(summary['rfet.mean']! - 1.6252) <= 3e-4);
  for (const name of ['rfet.p99', 'rfet.max', 'harvested.share', 'accelerated.share'])
    t.is(typeof summary[name], 'number');
});

test('the figures of the shipped sample as a table', async (t) => {
  const { code, out } = await gleaner(['simulate', '--mode', 'freyr-2021']);
  t.is(code, 0);
  t.regex(out, /rfet\.mean +1\n/);
});

test('the same run gives the same bytes', async (t) => {
  const args = [...small, '--manager', 'short-first', '--output', 'json'];
  const [one, two] = await Promise.all([gleaner(args), gleaner(args)]);
  t.is(one.code, 0, one.err);
  t.is(one.out, two.out);
  const run = JSON.parse(one.out) as RunSummary;
  t.deepEqual(
    [run.weightPolicy, run.mode, run.hosts, run.functions],
    ['short-first', 'weight', 2, 20],
  );
  t.is(
    run.activations,
    Object.values(run.outcomes).reduce((sum, count) => sum + count, 0),
  );
});

test('a summary shows the workload, the figures and the slowest functions', async (t) => {
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

test('a policy without effect in a mode is reported', async (t) => {
  const { code, err } = await gleaner([
    ...small,
    '--mode',
    'weight',
    '--manager',
    'largest-in-range',
    '-o',
    'json',
  ]);
  t.is(code, 0);
  t.regex(err, /largest-in-range decides in quota mode only/);
});

test('wrong usage ends with 2, a missing trace with 1', async (t) => {
  const unknownManager = await gleaner([...published, '--manager', 'unknown']);
  t.is(unknownManager.code, 2);
  t.regex(unknownManager.err, /one of: fixed, greedy, ensure/);
  for (const args of [
    ['--functions', '0'],
    ['--load', 'much'],
    ['--memory', '1', '--user-memory', '2'],
    ['--manager', 'unknown'],
  ])
    t.is((await gleaner(['simulate', ...args])).code, 2, args.join(' '));
  for (const mode of ['weight', 'freyr-2021'])
    t.is((await gleaner(['simulate', '--mode', mode, '--workload', 'no/such/folder'])).code, 1);
});

function ownWorkload(change: Record<string, unknown> = {}): string {
  const path = join(temporaryFolder('simulate'), 'own.json');
  writeFileSync(path, JSON.stringify({ ...OWN_WORKLOAD, ...change }));
  return path;
}

test("a workload's hosts are simulated unless the command line sets others", async (t) => {
  const own = await gleaner(['simulate', '--workload', ownWorkload(), '-o', 'json']);
  t.is(own.code, 0, own.err);
  const run = JSON.parse(own.out) as RunSummary;
  t.deepEqual([run.hosts, run.cores, run.userMemoryMiB], [1, 2, 2048]);
  // 10 activations a second of 100 ms on 2 cores; the arrivals are Poisson, 600 of them: sd 4 %.
  t.true(Math.abs(run.offeredLoad - 0.5) < 0.1, `offered load ${run.offeredLoad}`);
  const other = await gleaner([
    'simulate',
    '--workload',
    ownWorkload(),
    '--hosts',
    '3',
    '--cores',
    '1',
    '-o',
    'json',
  ]);
  const said = JSON.parse(other.out) as RunSummary;
  t.deepEqual([said.hosts, said.cores, said.userMemoryMiB], [3, 1, 2048]);
  const several = ownWorkload({ host: { ...OWN_WORKLOAD.host, count: 2 } });
  const two = JSON.parse(
    (await gleaner(['simulate', '--workload', several, '-o', 'json'])).out,
  ) as RunSummary;
  t.deepEqual([two.hosts, two.cores], [2, 2]);
});

test('the configuration applies, and keys without effect are refused or named', async (t) => {
  // Four tenths of a core of a user's one: a limit can be lowered, as far as the floor lets it.
  const lowParallelism = {
    ...OWN_WORKLOAD.functions[0]!,
    profile: { ...OWN_WORKLOAD.functions[0]!.profile, parallelism: 0.4 },
  };
  const workload = ownWorkload({ functions: [lowParallelism] });
  const run = async (...before: string[]) =>
    gleaner([...before, 'simulate', '--workload', workload, '--mode', 'quota', '-o', 'json']);
  const plain = [
    '--set',
    'agents.manager=fixed',
    '--set',
    'decision.policy.quota=smallest-in-range',
  ];
  const base = await run(...plain);
  const floor = await run(...plain, '--set', 'decision.cpuFloorMillicores=1000');
  t.is(floor.code, 0, floor.err);
  const harvested = ({ out }: { out: string }): number =>
    (JSON.parse(out) as RunSummary).harvest.harvestedCoreSeconds;
  t.true(harvested(base) > 0);
  t.is(harvested(floor), 0, 'no limit goes below the floor of one core, which is the user’s');
  t.is((JSON.parse(base.out) as RunSummary).quotaPolicy, 'smallest-in-range');
  const unknown = await run('--set', 'decision.nothing=1');
  t.is(unknown.code, 2);
  t.regex(unknown.err, /decision\.nothing/);
  const foreign = await run('--set', 'hook.sampleMs=50');
  t.is(foreign.code, 2);
  t.regex(foreign.err, /hook\.sampleMs: does not apply to a simulation/);
  const file = join(temporaryFolder('simulate'), 'gleaner.yaml');
  writeFileSync(
    file,
    'hook:\n  sampleMs: 50\ndecision:\n  controlShare: 1\n  policy:\n    quota: largest-in-range\n',
  );
  const filed = await run('--config', file);
  t.is(filed.code, 0, filed.err);
  t.regex(filed.err, /does not use hook\.sampleMs/);
  const summary = JSON.parse(filed.out) as RunSummary;
  t.is(summary.quotaPolicy, 'largest-in-range');
  // Every activation is of the control arm, which runs at user limits.
  t.is(summary.harvest.control, summary.activations);
});

test('a run limited by memory or CPU is named so, with advice', async (t) => {
  // Room for one container of 128 MiB where ten activations a second of 300 ms of waiting need
  // three at once.
  const io = {
    ...OWN_WORKLOAD.functions[0]!,
    profile: { ...OWN_WORKLOAD.functions[0]!.profile, cpuMs: 5, ioMs: 300 },
  };
  const memory = ownWorkload({
    host: { cores: 2, memoryMiB: 4096, userMemoryMiB: 128 },
    functions: [io],
  });
  const short = await gleaner(['simulate', '--workload', memory]);
  t.regex(short.out, /LIMITED BY MEMORY: .* waited for memory .*\n.*--user-memory/);
  const json = await gleaner(['simulate', '--workload', memory, '-o', 'json']);
  t.is((JSON.parse(json.out) as { limitedBy: string }).limitedBy, 'memory');
  const busy = await gleaner(['simulate', '--workload', ownWorkload(), '--load', '1.2']);
  t.regex(busy.out, /LIMITED BY CPU: /);
  t.notRegex((await gleaner(['simulate', '--workload', ownWorkload()])).out, /LIMITED BY/);
});

test('--calls is the old name of --activations', async (t) => {
  const run = ['simulate', '--workload', ownWorkload(), '--output', 'json'];
  const { out } = await gleaner([...run, '--calls', '30']);
  t.is((JSON.parse(out) as { activations: number }).activations, 30);
  t.is((await gleaner([...run, '--activations', '30'])).out, out);
});

test('shipped workloads come with hosts that fit them', async (t) => {
  const { out } = await gleaner([
    'simulate',
    '--workload',
    'profiles-12-slos',
    '--load',
    '0.9',
    '--activations',
    '3000',
  ]);
  t.regex(out, /on 1 hosts of 8 cores and 98304 MiB/);
  t.notRegex(out, /LIMITED BY MEMORY/);
});

test('activations are exported as CSV and JSON lines, with units in the names', async (t) => {
  const folder = temporaryFolder('simulate');
  const csv = join(folder, 'run.csv');
  const lines = join(folder, 'run.jsonl');
  const workload = ownWorkload({
    functions: [{ ...OWN_WORKLOAD.functions[0]!, name: '/guest/a,b' }],
  });
  const { code, out, err } = await gleaner([
    'simulate',
    '--workload',
    workload,
    '--export',
    csv,
    '-o',
    'json',
  ]);
  t.is(code, 0, err);
  const run = JSON.parse(out) as RunSummary;
  const [header, ...rows] = readFileSync(csv, 'utf8').trimEnd().split('\n');
  t.is(
    header,
    'activation,function,host,start,outcome,arrivedAtMs,waitMs,initMs,runMs,responseMs,cpuMs,' +
      'aloneMs,aloneAtUserLimitsMs',
  );
  t.is(rows.length, run.activations);
  t.regex(rows[0]!, /^\d+,"\/guest\/a,b",0,(cold|warm),success,/);
  t.is((await gleaner(['simulate', '--workload', workload, '--export', lines])).code, 0);
  const objects = readFileSync(lines, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, number | string>);
  t.is(objects.length, run.activations);
  for (const row of objects) {
    t.is(row.function, '/guest/a,b');
    // A response is made of its parts, to the microsecond.
    const parts = Number(row.waitMs) + Number(row.initMs) + Number(row.runMs);
    t.true(Math.abs(parts - Number(row.responseMs)) < 0.002, JSON.stringify(row));
  }
  const refused = await gleaner(['simulate', '--workload', workload, '--export', 'run.xlsx']);
  t.is(refused.code, 2);
  t.is(
    (await gleaner(['simulate', '--workload', workload, '--export', '/nowhere/run.csv'])).code,
    2,
  );
});

test('invalid rows of a trace are shown, and an error only with --strict', async (t) => {
  const folder = temporaryFolder('odd-rows');
  const path = join(folder, 'calls.csv');
  writeFileSync(
    path,
    'app,func,end_timestamp,duration\na,f,1,0.3\na,f,2,-0.3\na,f,3,x\na,f,4,-1\n',
  );
  const args = ['simulate', '--workload', path, '--hosts', '1', '--cores', '2'];
  const shown = await gleaner(args);
  t.is(shown.code, 0, shown.err);
  t.regex(
    shown.out,
    /\ndata: 2 rows with a negative number: skipped \(first: calls\.csv: line 3\)\n/,
  );
  const { data } = JSON.parse((await gleaner([...args, '--output', 'json'])).out) as {
    data: unknown;
  };
  t.like(data, [
    { kind: 'negative', count: 2, first: 'calls.csv: line 3' },
    { kind: 'unreadable', count: 1, first: 'calls.csv: line 4' },
  ]);
  const strict = await gleaner([...args, '--strict']);
  t.is(strict.code, 1);
  t.regex(strict.err, /calls\.csv: line 3: column 'duration' is '-0\.3'/);
});

test('a trained policy is played in its mode, and differs from the shipped one', async (t) => {
  const folder = join(temporaryFolder('simulate-policy'), 'my policy');
  const workload = ownWorkload();
  const hosts = ['--cores', '2', '--memory', '16384', '--user-memory', '8192'];
  const trained = await gleaner([
    ...['train', '--episodes', '1', '--workloads', 'profiles-12:3', '--loads', '0.7', ...hosts],
    ...['--out', folder],
  ]);
  t.is(trained.code, 0, trained.err);
  const run = (...options: string[]) => gleaner(['simulate', '--workload', workload, ...options]);
  const [played, shipped] = await Promise.all([
    run('--policy', `trial=${folder}`, '-o', 'json'),
    run('--manager', 'simppo+deadline-first', '-o', 'json'),
  ]);
  t.is(played.code, 0, played.err);
  const summary = JSON.parse(played.out) as RunSummary & { readonly policy: string };
  t.is(summary.policy, 'trial');
  t.like(summary, { manager: 'simppo', weightPolicy: 'deadline-first', quotaPolicy: 'target' });
  t.not(played.out, shipped.out);
  const { out: shown } = await run('--policy', `trial=${folder}`);
  t.regex(shown, /^policy trial, simppo in weight mode, policies target and deadline-first/m);
  const policy = ['--policy', `trial=${folder}`];
  const cases: [string[], RegExp][] = [
    [[...policy, '--mode', 'quota'], /--policy trial: it was trained in weight mode/],
    [[...policy, '--manager', 'greedy'], /'--policy .*' cannot be used with .*'--manager/],
    [[...policy, '--mode', 'freyr-2021'], /--policy trial: it was trained in weight mode/],
    [[...policy, '--policy', `other=${folder}`], /a run plays one policy/],
    [['--policy', `trial=${folder}/missing`], /--policy trial: .*there is no checkpoint/],
  ];
  for (const [options, expected] of cases) {
    const { code, out, err } = await run(...options);
    t.deepEqual([code, out], [2, ''], err);
    t.regex(err, expected);
  }
});

test('a manager that is a module is refused before anything runs', async (t) => {
  const folder = temporaryFolder('simulate-module');
  const config = join(folder, 'own.yaml');
  writeFileSync(config, 'agents:\n  manager: ./own.mjs\n');
  const out = join(folder, 'out');
  for (const command of [['simulate'], ['compare', '--out', out]]) {
    const { code, err } = await gleaner(['--config', config, ...command]);
    t.is(code, 2);
    t.regex(err, /agents.manager \S*own.mjs: a simulation runs no modules/);
  }
});
