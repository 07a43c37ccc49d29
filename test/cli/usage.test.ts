import { fork, spawn, spawnSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import test from 'ava';
import { Command } from 'commander';
import { commandAsked, QUERIES, VALUE_OPTIONS } from '../../cli/command-line.js';
import { releasedBy, switchedBy } from '../../cli/commands/restore.js';
import { commandModules, gleanerProgram } from '../../cli/program.js';
import { releaseNote } from '../../openwhisk-plugin/daemon/index.js';
import { engineLockPath, HookLock, nameProcess } from '../../openwhisk-plugin/host/lock/index.js';
import { otherSettings, settingsForRestore } from '../../runtime/wiring/index.js';
import { gleaner } from '../support/gleaner.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const nowhere = ['--set', `hook.stateDir=${join(tmpdir(), 'gleaner-nowhere')}`];

// None of these asks anybody anything: wrong usage is found before NATS is.
for (const args of [
  ['explain'],
  ['explain', 'thumb'],
  ['explain', '/guest/thumb', '--last', '0'],
  ['mode', 'sideways'],
  ['mode', 'observe', '--function', 'thumb'],
  ['up', '--for', 'ever'],
  // 30 days, which no timer of Node can wait for.
  ['up', '--for', '2592000'],
  ['top', '--for', 'Infinity'],
  ['status', '--output', 'xml'],
  ['restore', '--hold', '--release'],
  ['restore', '--reason', 'x'],
  ['--set', 'hook.sampleMs=soon', 'status'],
  ['--nats', 'somewhere', 'status'],
  ['no-such-command'],
])
  test(`wrong usage ends with 2: gleaner ${args.join(' ')}`, async (t) => {
    const { code, out, err } = await gleaner([...nowhere, ...args]);
    t.is(code, 2, err);
    t.is(out, '');
    t.not(err, '');
  });

test('the files into which commands are bundled answer as their modules do', async (t) => {
  const modules = { NODE_V8_COVERAGE: temporaryFolder('coverage') };
  for (const args of [
    ['status'],
    ['status', '--output', 'xml'],
    ['--set', 'hook.sampleMs=soon', 'explain', '/guest/thumb'],
    // Answered by the hook's own files.
    ['hook', '--help'],
    ['--set', 'hook.sampleMs=soon', 'hook'],
  ])
    t.deepEqual(
      await gleaner([...nowhere, ...args], { NODE_V8_COVERAGE: '' }),
      await gleaner([...nowhere, ...args], modules),
      args.join(' '),
    );
  const works = "import('esbuild').then((it) => it.transform('')).catch(() => process.exit(1))";
  const { status } = spawnSync(process.execPath, ['-e', works]);
  for (const file of ['query', 'hook']) {
    const isBundled = !readFileSync(`dist/cli/${file}.js`, 'utf8').includes("from './run.js'");
    t.is(isBundled, status === 0, file);
  }
});

test('where esbuild has no program for this machine the build keeps the modules', (t) => {
  const folder = temporaryFolder('bundle');
  const bundle = (env: NodeJS.ProcessEnv) =>
    spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        "const { bundle } = await import('./scripts/bundle.mjs');" +
          `await bundle(process.cwd() + '/dist/cli', ${JSON.stringify(folder)});`,
      ],
      { encoding: 'utf8', env: { ...process.env, ...env } },
    );
  const { status, stderr } = bundle({ ESBUILD_BINARY_PATH: '/bin/false' });
  t.deepEqual([status, stderr], [0, 'build: no esbuild: nothing is bundled\n']);
  t.deepEqual(readdirSync(folder), []);
});

test('if nothing runs a question ends with 1 and says what to do', async (t) => {
  const { code, err } = await gleaner([...nowhere, 'status']);
  t.is(code, 1);
  t.regex(err, /GLN_NATS_UNKNOWN[\s\S]*GLEANER_CONFIG[\s\S]*--nats URL/);
});

test('the state folder is found by the configuration file from any directory', async (t) => {
  const folder = temporaryFolder('usage');
  const file = join(folder, 'config', 'g.yaml');
  mkdirSync(join(folder, 'config'));
  writeFileSync(file, 'platform: simulated\nhook: { stateDir: ../state }\n');
  const elsewhere = temporaryFolder('usage');
  const main = resolve('dist/cli/main.js');
  for (const [cwd, args] of [
    [elsewhere, ['--config', file]],
    [folder, ['--config', 'config/g.yaml']],
  ] as const) {
    const { stderr } = spawnSync(process.execPath, [main, ...args, 'status'], {
      cwd,
      encoding: 'utf8',
    });
    t.true(
      stderr.includes(`state folder ${join(folder, 'state')}\n`) ||
        stderr.includes(`state folder ${join(folder, 'state')} `),
      stderr,
    );
  }
});

test('a check names unknown policies and managers of single functions by line', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-usage-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'gleaner.yaml');
  writeFileSync(
    file,
    [
      'functions:',
      '  overrides:',
      '    - match: /guest/a',
      '      policy: nonsense',
      '      manager: unknown\n',
    ].join('\n'),
  );
  const { code, out } = await gleaner(['--config', file, 'config', 'check']);
  t.is(code, 2);
  t.regex(out, /:4: functions\.overrides\.0\.policy: must be one of/);
  t.regex(out, /:5: functions\.overrides\.0\.manager: must be one of fixed, greedy/);
});

test('a kill switch that cannot be set is reported', async (t) => {
  // A file where the folder should be.
  const blocked = ['--set', 'hook.stateDir=package.json', '--set', 'platform=simulated'];
  const { code, out } = await gleaner([...blocked, 'restore', '--hold', '-o', 'json']);
  t.is(code, 1);
  const { hosts } = JSON.parse(out) as { hosts: { result: string; ok: boolean }[] };
  t.is(hosts.length, 1);
  t.regex(hosts[0]!.result, /cannot set the kill switch/);
  const up = await gleaner([...blocked, 'up', '--for', '1']);
  t.is(up.code, 1);
  t.regex(up.err, /GLN_STATE_FOLDER/);
});

test('a kill switch on a full disk is set, though nothing can be written to it', async (t) => {
  const folder = temporaryFolder('full');
  const file = join(folder, 'kill-switch');
  // They can be opened, and each write fails with ENOSPC.
  for (const note of [`${file}.new`, releaseNote(file)]) symlinkSync('/dev/full', note);
  const options = ['--set', `hook.stateDir=${folder}`, '--set', 'platform=simulated'];
  const { code, out } = await gleaner([...options, 'restore', '--hold', '-o', 'json']);
  t.is(code, 0, out);
  const { held, hosts } = JSON.parse(out) as { held: boolean; hosts: { result: string }[] };
  t.true(held);
  t.regex(hosts[0]!.result, /^kill switch set /);
  t.is((await gleaner([...options, 'restore', '--release'])).code, 0);
  t.is(lstatSync(file, { throwIfNoEntry: false }), undefined);
});

test('restore --hold reports whether the hook confirms the kill switch', async (t) => {
  const folder = temporaryFolder('hold');
  const options = ['--set', `hook.stateDir=${folder}`, '--set', 'platform=simulated'];
  const hold = async (...more: string[]) => {
    const { code, out } = await gleaner([...options, 'restore', '--hold', ...more, '-o', 'json']);
    const { held, hosts } = JSON.parse(out) as { held: boolean; hosts: [{ result: string }] };
    return { code, held, ...hosts[0] };
  };
  t.like(await hold('--reason', 'incident\n42'), { code: 0, held: true });
  const note = readFileSync(join(folder, 'kill-switch'), 'utf8');
  t.regex(note, /^\S+Z gleaner restore --hold by cli:\S+: incident 42\n$/);
  t.regex((await hold()).result, /\): no hook found; one with this state folder holds it/);
  // This process is the hook.
  const lock = await HookLock.acquire(join(folder, 'hook.lock'));
  const silent = await hold();
  t.like(silent, { code: 1, held: false });
  t.true(silent.result.includes(`but the hook (process ${process.pid}) did not confirm it`));
  t.notRegex(silent.result, /apply until/);
  nameProcess(join(folder, 'kill-switch.held'));
  const confirmed = await hold();
  t.like(confirmed, { code: 0, held: true });
  t.regex(confirmed.result, /\): user limits apply until --release$/);
  lock.release();
});

test('a release names what still holds the kill switch, and then fails', async (t) => {
  t.deepEqual(releasedBy('a', 'kill switch released', []), {
    host: 'a',
    result: 'kill switch released',
    ok: true,
  });
  t.deepEqual(releasedBy('a', 'kill switch released', ['kv', 'signal']), {
    host: 'a',
    result:
      'kill switch released, but still held by kv (gleaner restore --release --all; ' +
      'without NATS: remove modes.json in the state folder and restart the hook), ' +
      'signal (on that host: kill -USR2 the hook)',
    ok: false,
    stillHeldBy: ['kv', 'signal'],
  });
  const folder = temporaryFolder('release');
  const file = join(folder, 'kill-switch');
  const release = async () => {
    const args = ['--set', `hook.stateDir=${folder}`, 'restore', '--release', '-o', 'json'];
    const { code, out } = await gleaner(args, { GLEANER_CONFIG: '' });
    return { code, ...(JSON.parse(out) as { hosts: [{ result: string }] }).hosts[0] };
  };
  t.like(await release(), { code: 0, result: `no file ${file}` });
  writeFileSync(file, '');
  t.like(await release(), { code: 0, result: `released ${file}` });
  t.is(lstatSync(file, { throwIfNoEntry: false }), undefined);
  // As a container engine makes it to mount a file that is not there.
  mkdirSync(file);
  t.like(await release(), { code: 0, result: `released ${file}` });
  t.is(lstatSync(file, { throwIfNoEntry: false }), undefined);
  // This process is a hook that another source holds, too.
  nameProcess(`${file}.held`, 'kv');
  t.like(await release(), { code: 1, stillHeldBy: ['kv'] });
});

test('the kill switch works with a configuration that nothing else accepts', async (t) => {
  t.timeout(120_000);
  const folder = temporaryFolder('damaged');
  const file = join(folder, 'gleaner.yaml');
  const good = `platform: simulated\nhook: { stateDir: ${folder}, bogus: 1 }\n`;
  writeFileSync(file, good);
  const hold = (env: Record<string, string> = {}) =>
    gleaner(['--config', file, 'restore', '--hold'], env);
  const set = join(folder, 'kill-switch');
  const { code, out, err } = await hold();
  t.is(code, 0, err);
  t.true(out.includes(`kill switch set (${set})`), out);
  t.regex(err, /:2: hook\.bogus: no such key[\s\S]*restoring nevertheless, with what can be read/);
  rmSync(set);
  writeFileSync(file, good.replace(', bogus: 1', ''));
  t.is((await hold({ GLEANER_HOOK_SAMPLEMS: 'abc' })).code, 0);
  // What the file has applies in place of a wrong variable.
  const misspelled = await hold({ GLEANER_PLATFORM: 'simulatd' });
  t.is(misspelled.code, 0, misspelled.err);
  t.regex(misspelled.err, /its values in place of GLEANER_PLATFORM/);
  t.not(lstatSync(set, { throwIfNoEntry: false }), undefined);

  // If nothing can be read, the settings are those of the hook that ran with this file.
  const state = join(folder, 'state');
  const socket = join(folder, 'docker.sock');
  const record = engineLockPath(socket, '/var/lib/gleaner').replace(/lock$/, 'json');
  if (process.getuid?.() !== 0) return;
  mkdirSync(dirname(record), { recursive: true, mode: 0o700 });
  t.teardown(() => rmSync(record, { force: true }));
  const hook = { stateDir: state, engine: 'docker', engineSocket: socket, containerPrefix: 'wsk7' };
  writeFileSync(record, JSON.stringify({ configFile: file, platform: 'host', hook }));
  const place = `containers wsk7… on ${socket}; settings of the hook that ran with ${file}`;
  const damage = {
    'not UTF-8': () => writeFileSync(file, Buffer.from([0xff, 0xfe, 0x80, 0x00])),
    'not YAML': () => writeFileSync(file, 'hook: { stateDir: /x'),
    gone: () => rmSync(file),
  };
  for (const [name, apply] of Object.entries(damage)) {
    apply();
    const held = await hold();
    // No engine answers there.
    t.is(held.code, 1, name);
    t.true(held.out.includes(`kill switch set (${join(state, 'kill-switch')})`), held.out);
    t.true(held.out.includes(place), held.out);
    rmSync(join(state, 'kill-switch'));
  }
  // Hooks with this file on two engines were killed: both are stopped.
  const both = [join(folder, 'other.sock'), join(folder, 'other')] as const;
  const second = engineLockPath(both[0], '/var/lib/gleaner').replace(/lock$/, 'json');
  const others = { ...hook, engineSocket: both[0], stateDir: both[1] };
  writeFileSync(second, JSON.stringify({ configFile: file, platform: 'host', hook: others }));
  t.teardown(() => rmSync(second, { force: true }));
  const twice = await hold();
  for (const stateDir of [state, both[1]]) {
    t.true(twice.out.includes(`kill switch set (${join(stateDir, 'kill-switch')})`), twice.out);
    rmSync(join(stateDir, 'kill-switch'));
  }
  t.regex(twice.err, /ran on 2 engines: \S*other\.sock, \S*docker\.sock/);
  const one = ['--config', file, '--set', `hook.engineSocket=${socket}`, 'restore', '--hold'];
  const { out: only } = await gleaner(one);
  t.true(only.includes(`kill switch set (${join(state, 'kill-switch')})`), only);
  t.false(only.includes(both[1]), only);
  rmSync(join(state, 'kill-switch'));
  rmSync(second);
  // A file that was cut is valid and says nothing.
  writeFileSync(file, '');
  const cut = await hold();
  t.true(cut.out.includes(place), cut.out);
  const named = (engine: string, stateDir: string): string =>
    'a hook has other settings than this configuration: using its ' +
    `platform host, engine ${engine}, state folder ${stateDir}\n`;
  t.true(cut.err.includes(named(socket, state)), cut.err);
  // The settings of a second hook are those of this file, and the older one's are named.
  const own = `platform: host\nhook: { stateDir: ${both[1]}, engineSocket: ${both[0]}`;
  writeFileSync(file, `${own}, containerPrefix: wsk7 }\n`);
  writeFileSync(second, JSON.stringify({ configFile: file, platform: 'host', hook: others }));
  const { err: older } = await hold();
  t.true(older.includes(named(socket, state)), older);
  t.false(older.includes(named(...both)), older);
  const settings = settingsForRestore({ config: file });
  t.is(otherSettings(settings, both[1]), null);
  t.is(otherSettings(settings, state), `platform host, engine ${socket}, state folder ${state}`);
  t.is(otherSettings(settings, folder), null, 'of no hook that is known');
  rmSync(second);
  rmSync(record);
  rmSync(file);
  const guessed = await hold({ GLEANER_HOOK_STATEDIR: folder });
  t.is(guessed.code, 1);
  t.regex(guessed.out, /the hook may use another folder/);
  rmSync(set);
  const flagged = await gleaner([
    '-c',
    file,
    '--set',
    `hook.stateDir=${folder}`,
    'restore',
    '--hold',
  ]);
  t.true(flagged.out.includes(`kill switch set (${set})`), flagged.out);
  const typed = await gleaner(['-c', file, '--set', 'hook.stateDr=/x', 'restore', '--hold']);
  t.is(typed.code, 2);
});

test('config check reads the files of all parts, and warns of what this host lacks', async (t) => {
  const missing = join(temporaryFolder('files'), 'nope');
  const check = (...sets: string[]) =>
    gleaner([...sets.flatMap((one) => ['--set', one]), 'config', 'check']);
  const short = join(temporaryFolder('files'), 'token');
  writeFileSync(short, 'short', { mode: 0o600 });
  for (const [key, value] of [
    ['dashboard.tokenFile', short],
    ['simulator.workload', missing],
  ] as const) {
    const { code, out } = await check(`${key}=${value}`);
    t.is(code, 2, key);
    t.true(out.startsWith(`flag ${key}: ${key}: `), out);
  }
  // One configuration may serve hosts that have different parts of it.
  const files = ['dashboard.tokenFile', 'openwhisk.keysFile', 'openwhisk.caFile'];
  const programs = ['hook.tcpdump', 'nats.embedded.binary'];
  const { code, out } = await check(
    ...[...files, ...programs].map((key) => `${key}=${missing}`),
    'openwhisk.apiHost=https://ow.example',
    'hook.core=4095',
  );
  t.is(code, 0, out);
  for (const key of [...files, ...programs, 'hook.core'])
    t.regex(out, new RegExp(`^warning: ${key}: `, 'm'));
});

test('restore uses the platform of the `gleaner up` that runs', async (t) => {
  const folder = temporaryFolder('up');
  const config = join(folder, 'gleaner.yaml');
  const socket = join(folder, 'docker.sock');
  const up = spawn('sh', ['-c', 'read _', 'up']);
  t.teardown(() => up.kill());
  const running = (state: object): void =>
    writeFileSync(join(folder, 'up.json'), JSON.stringify({ pid: up.pid, servers: [], ...state }));
  writeFileSync(
    config,
    [
      'platform: simulated',
      `hook: { stateDir: ${folder}, engineSocket: ${socket} }`,
      'simulator: { prefix: wskabc0 }',
    ].join('\n'),
  );
  const restore = async (...args: string[]) =>
    (await gleaner(['--config', config, ...args, 'restore', '--hold'])).out;
  running({ platform: 'docker' });
  const place = `platform docker, containers wskabc0… on ${socket}`;
  t.true((await restore()).includes(place));
  t.false((await restore('--set', 'platform=simulated')).includes(place), 'as asked');
  // Of another release, or damaged.
  for (const platform of [undefined, 'podman']) {
    running({ platform });
    t.false((await restore()).includes('platform'));
  }
  // What its hook has recorded is that of the file and the flag.
  if (process.getuid?.() === 0) {
    running({ platform: 'docker' });
    const record = engineLockPath(socket, '/var/lib/gleaner').replace(/lock$/, 'json');
    mkdirSync(dirname(record), { recursive: true, mode: 0o700 });
    t.teardown(() => rmSync(record, { force: true }));
    const engine = { engine: 'docker', engineSocket: socket, containerPrefix: 'wskabc0' };
    const hook = { stateDir: folder, ...engine };
    writeFileSync(record, JSON.stringify({ configFile: config, platform: 'docker', hook }));
    const { out, err } = await gleaner(['--config', config, 'restore', '--hold']);
    t.true(out.includes(place), out);
    t.notRegex(err, /other settings/);
    rmSync(record);
  }
  running({ platform: 'docker', pid: process.pid });
  t.false((await restore()).includes(place), 'another program');
});

test('a failed start ends the process, even with an open channel to its parent', async (t) => {
  const child = fork(
    'dist/cli/main.js',
    ['--set', 'hook.stateDir=package.json', 'up', '--for', '1'],
    { silent: true },
  );
  t.teardown(() => child.kill('SIGKILL'));
  t.is(await new Promise((resolve) => child.on('exit', resolve)), 1);
});

test('the command is found after options and their values', (t) => {
  t.is(commandAsked(['restore', '--local']), 'restore');
  t.is(commandAsked(['--config', 'restore', '--set', 'a=b', '-c', 'x', 'status']), 'status');
  t.is(commandAsked(['--config=x', 'restore']), 'restore');
  t.is(commandAsked(['--help']), undefined);
});

test('a command is the same whether its module is loaded alone or with all', async (t) => {
  const all = await gleanerProgram();
  const shown = all.commands.map((command) => command.name());
  t.deepEqual(
    shown,
    commandModules.flatMap(({ names }) => names),
  );
  for (const { names } of commandModules)
    for (const name of names) {
      const alone = (await gleanerProgram(name)).commands.find(
        (command) => command.name() === name,
      );
      t.is(
        alone?.helpInformation(),
        all.commands.find((command) => command.name() === name)!.helpInformation(),
        name,
      );
    }
  // Commands that list all others, and unknown ones, need all modules.
  for (const name of ['completion', 'docs', 'stauts', undefined])
    t.is((await gleanerProgram(name)).commands.length, shown.length, name ?? 'none');
});

test('restore --hold --host fails if the hook cannot restore a limit', (t) => {
  const asked = (answer: unknown) => switchedBy('a', 'kill switch set', answer);
  const names = ['f1', 'f2 (its loan of memory is in use)', 'f3', 'f4', 'f5'];
  t.deepEqual(asked({ restored: 3, failed: 5, examined: 9, notRestored: names }), {
    host: 'a',
    result:
      'kill switch set; 9 containers examined, 3 restored; ' +
      'not restored: f1, f2 (its loan of memory is in use), f3 and 2 more',
    ok: false,
    notRestored: names,
  });
  // An older hook names none.
  t.like(asked({ restored: 3, failed: 2 }), {
    result: 'kill switch set; 3 containers restored; 2 failed',
    ok: false,
  });
  t.deepEqual(asked({ restored: 3, failed: 0, examined: 9, notRestored: [] }), {
    host: 'a',
    result: 'kill switch set',
    ok: true,
  });
});

test('restore --local names its engine, and refuses a simulated host', async (t) => {
  const simulated = await gleaner([
    ...nowhere,
    '--set',
    'platform=simulated',
    'restore',
    '--local',
  ]);
  t.is(simulated.code, 2);
  t.is(simulated.out, '');
  t.regex(simulated.err, /simulated host[\s\S]*`gleaner restore` asks the hook/);
  // No engine there: a failure, and on which.
  const absent = ['--set', 'hook.engineSocket=/nonexistent/docker.sock'];
  const config = join(temporaryFolder('local'), 'gleaner.yaml');
  writeFileSync(config, '');
  const { code, out } = await gleaner([...nowhere, ...absent, 'restore', '--local'], {
    GLEANER_CONFIG: config,
  });
  t.is(code, 1);
  t.regex(out, /\(platform host, containers wsk… on \/nonexistent\/docker\.sock; /);
});

test('an unreachable server is named with cause and hint, without its password', async (t) => {
  const { code, err } = await gleaner([
    ...nowhere,
    '--nats',
    'nats://me:secret@127.0.0.1:1',
    'status',
  ]);
  t.is(code, 1);
  const [first, second] = err.split('\n');
  t.is(first, 'gleaner: cannot reach nats://***@127.0.0.1:1: connection refused [GLN_NATS_AWAY]');
  t.regex(second!, /^ {2}start nats-server, or name another with --nats URL/);
  t.notRegex(err, /by itself|secret/);
});

test('a check reports a missing manager module by line', async (t) => {
  const folder = temporaryFolder('usage');
  const file = join(folder, 'g.yaml');
  writeFileSync(file, 'mode: observe\nagents:\n  manager: ./gone.mjs\n');
  const { code, out } = await gleaner(['--config', file, 'config', 'check']);
  t.is(code, 2);
  t.true(
    out.startsWith(
      `${file}:3: agents.manager: cannot use the manager module ${join(folder, 'gone.mjs')}: ` +
        'no such file',
    ),
    out,
  );
  writeFileSync(join(folder, 'gone.mjs'), '');
  t.is((await gleaner(['--config', file, 'config', 'check'])).code, 0);
});

test('what is read of the command line before the program is loaded agrees with it', async (t) => {
  const { options } = await gleanerProgram('status');
  const valued = options.filter(({ required }) => required);
  t.deepEqual(valued.flatMap(({ short, long }) => [short, long]).filter(Boolean), VALUE_OPTIONS);
  for (const [name, file] of Object.entries(QUERIES)) {
    const program = new Command();
    (await import(`../../cli/commands/${file}.js`)).addCommands(program);
    t.true(
      program.commands.some((command) => command.name() === name),
      `${name} in ${file}.ts`,
    );
  }
});
