import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { restorerOf } from '../../cli/commands/install.js';
import { type ConfigCheck, configCheck } from '../../cli/install/config-check.js';
import {
  checkInstallation,
  install,
  layoutOf,
  remove,
  rollback,
  type ServicePart,
} from '../../cli/install/index.js';
import type { ServiceManager } from '../../cli/install/service-manager.js';
import { SYSTEMCTL_TIMEOUT_MILLIS } from '../../cli/install/service-manager.js';
import { HOOK_FLAGS } from '../../cli/up/children.js';
import { gleaner } from '../support/gleaner.js';
import { remainsOf } from '../support/remains.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/** Notes what systemd was asked for, in order. */
class RecordingServiceManager implements ServiceManager {
  readonly calls: string[] = [];
  readonly running = new Set<string>();
  reload(): void {
    this.calls.push('reload');
  }
  enable(units: readonly string[]): void {
    this.calls.push(`enable ${units}`);
  }
  restart(units: readonly string[]): void {
    this.calls.push(`restart ${units}`);
    for (const unit of units) this.running.add(unit);
  }
  disable(units: readonly string[]): void {
    this.calls.push(`disable ${units}`);
    this.running.clear();
  }
  isActive(unit: string): boolean {
    return this.running.has(unit);
  }
  take(): string[] {
    return this.calls.splice(0);
  }
}

const UNIT = '/etc/systemd/system/gleaner-hook.service';

/** A program folder small enough for a test; the units are the shipped ones. */
function program(folder: string, release: string): string {
  const from = join(folder, release);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(from, path)), { recursive: true });
    writeFileSync(join(from, path), text);
  };
  write(
    'package.json',
    JSON.stringify({
      name: 'gleaner',
      version: release,
      files: ['dist', 'deploy', 'web/*.css', 'missing', 'missing/*.css'],
    }),
  );
  const packages = {
    '': {},
    'node_modules/needed': {},
    'node_modules/needed/node_modules/inner': {},
    'node_modules/tested': { dev: true },
    'node_modules/heavy': { optional: true },
    'node_modules/either': { devOptional: true },
  };
  write('package-lock.json', JSON.stringify({ packages }));
  for (const path of Object.keys(packages))
    if (path !== '') write(`${path}/index.js`, `// ${path}`);
  write('dist/cli/main.js', `// ${release}`);
  write('dist/cli/main.js.map', '{}');
  write('web/page.css', 'p {}');
  write('web/page.ts', '// compiled');
  write('dist/test/a.test.js', '// a test');
  for (const name of readdirSync('deploy/systemd'))
    write(`deploy/systemd/${name}`, readFileSync(join('deploy/systemd', name), 'utf8'));
  return from;
}

function installFixture(t: ExecutionContext) {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-install-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const layout = layoutOf(join(folder, 'root'));
  const serviceManager = new RecordingServiceManager();
  const put = (
    release: string,
    parts: ServicePart[] = ['hook'],
    services: ServiceManager | null = serviceManager,
    checkConfig: ConfigCheck | null = null,
  ) => {
    const from = program(folder, release);
    return install({ layout, from, parts, node: process.execPath, services, checkConfig });
  };
  const read = (path: string): string => readFileSync(layout.at(path), 'utf8');
  return { folder, layout, serviceManager, put, read };
}

/** Every file below a folder with its time of change. */
function times(folder: string, below = ''): Map<string, number> {
  const all = new Map<string, number>();
  for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
    const path = join(below, entry.name);
    if (entry.isDirectory()) for (const [name, time] of times(folder, path)) all.set(name, time);
    else all.set(path, statSync(join(folder, path), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  }
  return all;
}

test('tests and development packages are not installed; a second run changes nothing', (t) => {
  const { layout, serviceManager, put, read } = installFixture(t);
  const first = put('1.0.0');
  t.regex(first.release, /^1\.0\.0-[0-9a-f]{8}$/);
  t.deepEqual(serviceManager.take(), [
    'reload',
    'enable gleaner-hook.service',
    'restart gleaner-hook.service',
  ]);
  const files = [...times(layout.at(layout.releases)).keys()].map((path) =>
    path.slice(first.release.length + 1),
  );
  t.deepEqual(files.filter((path) => !path.startsWith('deploy/')).sort(), [
    'dist/cli/main.js',
    'node_modules/needed/index.js',
    'node_modules/needed/node_modules/inner/index.js',
    'package-lock.json',
    'package.json',
    'web/page.css',
  ]);
  t.is(readlinkSync(layout.at(layout.current)), `releases/${first.release}`);
  t.is(
    statSync(layout.at(join(layout.releases, first.release, 'dist/cli/main.js'))).mode & 0o111,
    0o111,
  );
  const unit = read(UNIT);
  t.true(
    unit.includes(
      `ExecStart=${process.execPath} ${HOOK_FLAGS.join(' ')} ` +
        '/opt/gleaner/current/dist/cli/main.js',
    ),
  );
  t.true(unit.includes(`ExecStopPost=${process.execPath} /opt/gleaner/current/dist/cli/main.js`));

  const before = times(layout.root);
  const second = put('1.0.0');
  t.deepEqual(second, { release: first.release, changed: [], restarted: [] });
  t.deepEqual(times(layout.root), before);
  t.deepEqual(serviceManager.take(), []);
});

test('an upgrade whose restart failed is ended by the next run', (t) => {
  const { layout, serviceManager, put } = installFixture(t);
  put('1.0.0', ['hook', 'agents']);
  for (const failing of ['reload', 'restart'] as const) {
    const release = failing === 'reload' ? '1.1.0' : '1.2.0';
    serviceManager.take();
    serviceManager[failing] = () => {
      throw new Error('a made failure');
    };
    t.throws(() => put(release), { message: 'a made failure' });
    delete (serviceManager as Partial<RecordingServiceManager>)[failing];
    // The services of the old release still run.
    t.true(serviceManager.isActive('gleaner-hook.service'));
    serviceManager.take();
    t.deepEqual(put(release).restarted, ['gleaner-hook.service', 'gleaner-agents.service']);
    t.deepEqual(serviceManager.take(), [
      'reload',
      'enable gleaner-hook.service,gleaner-agents.service',
      'restart gleaner-hook.service,gleaner-agents.service',
    ]);
    t.deepEqual(put(release).restarted, []);
    t.deepEqual(serviceManager.take(), []);
    t.notRegex(readFileSync(layout.at(layout.manifest), 'utf8'), /pending/i);
  }
});

test('a service whose seed is gone is restarted without it', (t) => {
  const { layout, serviceManager, put } = installFixture(t);
  mkdirSync(layout.at(layout.nats), { recursive: true });
  const seed = join(layout.at(layout.nats), 'agents.nk');
  writeFileSync(seed, 'SU');
  put('1.0.0', ['hook', 'agents']);
  const conf = '/etc/systemd/system/gleaner-agents.service.d/nats.conf';
  t.true(existsSync(layout.at(conf)));
  rmSync(seed);
  serviceManager.take();
  t.deepEqual(put('1.0.0').changed, [conf]);
  t.deepEqual(serviceManager.take(), [
    'reload',
    'enable gleaner-hook.service,gleaner-agents.service',
    'restart gleaner-agents.service',
  ]);
});

/** Paths below a folder that services of other users than its owner cannot read. */
function hidden(folder: string): string[] {
  const directories = ['-type', 'd', '-not', '-perm', '-555'];
  const files = ['-type', 'f', '-not', '-perm', '-444'];
  const { stdout } = spawnSync('find', [folder, ...directories, '-o', ...files], {
    encoding: 'utf8',
  });
  return stdout.split('\n').filter((path) => path !== '');
}

test('services of other users can read a program that was built for its owner alone', (t) => {
  const { folder, layout } = installFixture(t);
  const from = program(folder, '1.0.0');
  t.is(spawnSync('chmod', ['-R', 'go=', from]).status, 0);
  install({
    layout,
    from,
    parts: ['hook'],
    node: process.execPath,
    services: null,
    checkConfig: null,
  });
  t.deepEqual(hidden(layout.at(layout.releases)), []);
  t.is(statSync(join(from, 'package.json')).mode & 0o077, 0);
});

test('services of other users can read what a root with umask 077 installs', (t) => {
  const { layout } = installFixture(t);
  const command = 'umask 077; exec "$0" dist/cli/main.js install --part agents --root "$1"';
  const args = ['-c', command, process.execPath, layout.root];
  const { status, stderr } = spawnSync('sh', args, { encoding: 'utf8' });
  t.is(status, 0, stderr);
  t.true(existsSync(layout.at(layout.config)));
  t.deepEqual(hidden(layout.root), []);
});

test('a node that the services do not see, or that others could replace, is refused', (t) => {
  const { folder } = installFixture(t);
  // Without a program nothing is installed in any case.
  const installWith = (node: string) => {
    const host = { layout: layoutOf('/'), services: null, checkConfig: null };
    return install({ ...host, from: folder, parts: ['hook'], node });
  };
  const refused = (node: string): string =>
    t.throws(() => installWith(node), { code: 'GLN_USAGE' })?.message ?? '';
  const version = 'versions/node/v20.20.0/bin/node';
  for (const home of ['/root', '/home/me', '/run/user/1000', '/opt/../home/me'])
    t.regex(refused(`${home}/.nvm/${version}`), /is in a home folder, which services do not see/);
  t.regex(refused('/missing/node'), /: it does not exist$/);
  if (process.getuid?.() !== 0) {
    t.log('NOT RUN: needs root');
    return;
  }
  const node = join(folder, 'node');
  writeFileSync(node, '', { mode: 0o755 });
  chmodSync(folder, 0o755);
  chownSync(node, 65_534, 0);
  t.regex(refused(node), /node belongs to user 65534, so other users than root could replace it$/);
  chownSync(node, 0, 0);
  chmodSync(folder, 0o757);
  t.regex(refused(node), /: others may write \S+, so other users/);
  // The group of /usr/local on some systems.
  chownSync(folder, 0, 50);
  chmodSync(folder, 0o775);
  t.throws(() => installWith(node), { code: 'ENOENT' });
});

test('an upgrade keeps the configuration and one previous release to roll back to', (t) => {
  const { layout, serviceManager, put, read } = installFixture(t);
  const one = put('1.0.0', ['hook', 'agents']).release;
  writeFileSync(layout.at(layout.config), 'mode: observe\n');
  serviceManager.take();
  const two = put('2.0.0').release;
  t.deepEqual(serviceManager.take().at(-1), 'restart gleaner-hook.service,gleaner-agents.service');
  t.is(read(layout.config), 'mode: observe\n');
  t.is(read(join(layout.current, 'dist/cli/main.js')), '// 2.0.0');
  t.deepEqual(rollback({ layout, services: serviceManager, checkConfig: null }).release, one);
  t.is(read(join(layout.current, 'dist/cli/main.js')), '// 1.0.0');
  t.deepEqual(serviceManager.take().at(-1), 'restart gleaner-hook.service,gleaner-agents.service');
  // After a third release the first is deleted.
  t.is(rollback({ layout, services: serviceManager, checkConfig: null }).release, two);
  const three = put('3.0.0').release;
  t.deepEqual(readdirSync(layout.at(layout.releases)).sort(), [two, three].sort());
});

test('a release that refuses the configuration is not made the current one', (t) => {
  const { layout, serviceManager, put, read } = installFixture(t);
  const one = put('1.0.0').release;
  const two = put('2.0.0').release;
  serviceManager.take();
  const asked: string[] = [];
  const refuse: ConfigCheck = (_node, program, config) => {
    asked.push(program.slice(layout.root.length), config.slice(layout.root.length));
    return `${config}:3: hook.new: no such key`;
  };
  const refused = { code: 'GLN_RELEASE_CONFIG', message: /hook\.new: no such key/ };
  const host = { layout, services: serviceManager, checkConfig: refuse };
  t.throws(() => rollback(host), refused);
  t.throws(() => put('3.0.0', ['hook'], serviceManager, refuse), refused);
  t.deepEqual(asked.slice(0, 2), [join(layout.releases, one), layout.config]);
  t.is(read(join(layout.current, 'dist/cli/main.js')), '// 2.0.0');
  t.deepEqual(serviceManager.take(), []);
  // The installed release is not asked, so that an install can repair its units.
  t.is(put('2.0.0', ['hook'], serviceManager, refuse).release, two);
  t.is(rollback({ ...host, checkConfig: () => null }).release, one);
});

test('a release is asked with the file, and without the variables of this shell', (t) => {
  const folder = temporaryFolder('config-check');
  const file = join(folder, 'gleaner.yaml');
  const ask = (text: string): string | null => {
    writeFileSync(file, text);
    return configCheck(process.execPath, process.cwd(), file, {});
  };
  process.env.GLEANER_MODE = 'nonsense';
  t.teardown(() => delete process.env.GLEANER_MODE);
  t.is(ask('mode: observe\n'), null);
  t.regex(ask('mode: observe\nhook:\n  newer: 1\n') ?? '', /gleaner\.yaml:3.*hook\.newer/);
  const seed = { GLEANER_NATS_NKEYSEEDFILE: join(folder, 'none.nk') };
  writeFileSync(file, 'openwhisk:\n  apiHost: https://127.0.0.1\n  caFile: /none.pem\n');
  t.is(ask(readFileSync(file, 'utf8')), null, 'a warning is no problem');
  const found = configCheck(process.execPath, process.cwd(), file, seed) ?? '';
  t.regex(found, /none\.nk/);
  t.notRegex(found, /warning|none\.pem/);
  t.regex(configCheck(process.execPath, folder, file, {}) ?? '', /ended with 1.*main\.js/s);
  t.regex(configCheck(join(folder, 'node'), folder, file, {}) ?? '', /did not run: .*ENOENT/);
});

test('a rollback without a previous release, or with a damaged manifest, fails', (t) => {
  const { layout, serviceManager, put } = installFixture(t);
  t.throws(() => rollback({ layout, services: serviceManager, checkConfig: null }), {
    code: 'GLN_NOT_INSTALLED',
  });
  put('1.0.0');
  t.throws(() => rollback({ layout, services: serviceManager, checkConfig: null }), {
    code: 'GLN_NO_PREVIOUS_RELEASE',
  });
  writeFileSync(layout.at(layout.manifest), '{}');
  t.throws(() => rollback({ layout, services: serviceManager, checkConfig: null }), {
    code: 'GLN_MANIFEST_DAMAGED',
  });
});

test('check reports differences from the installation', (t) => {
  const { layout, serviceManager, put } = installFixture(t);
  t.throws(() => checkInstallation(layout, serviceManager), { code: 'GLN_NOT_INSTALLED' });
  put('1.0.0', ['hook', 'aggregator']);
  const wrong = (): string[] =>
    checkInstallation(layout, serviceManager)
      .filter((row) => !row.ok)
      .map((row) => `${row.check}: ${row.found}`);
  t.deepEqual(wrong(), []);
  writeFileSync(layout.at(UNIT), 'else');
  rmSync(layout.at('/etc/systemd/system/gleaner-aggregator.service'));
  writeFileSync(layout.at(layout.config), 'moed: observe\n');
  serviceManager.running.delete('gleaner-hook.service');
  t.deepEqual(wrong().slice(0, 2), [
    `${UNIT}: changed since`,
    '/etc/systemd/system/gleaner-aggregator.service: missing',
  ]);
  t.regex(wrong()[2]!, /gleaner\.yaml: .*moed/);
  t.is(wrong()[3], 'gleaner-hook.service: not active');
  // Installing again repairs installed files, and keeps the configuration.
  put('1.0.0');
  t.deepEqual(wrong().length, 1);
});

test('services get the seeds of nats-config, all but the hook as a copy of systemd', (t) => {
  const { layout, put, read } = installFixture(t);
  mkdirSync(layout.at(layout.nats), { recursive: true });
  for (const name of ['hook-a.nk', 'agents.nk', 'operator.nk'])
    writeFileSync(join(layout.at(layout.nats), name), 'SU', { mode: 0o600 });
  put('1.0.0', ['hook', 'agents', 'aggregator', 'actions']);
  t.regex(
    read(`${UNIT}.d/nats.conf`),
    /^Environment=\S+_NKEYSEEDFILE=\/etc\/gleaner\/nats\/hook-a\.nk \S+=_INBOX_gleaner_hook$/m,
  );
  const agents = read('/etc/systemd/system/gleaner-agents.service.d/nats.conf');
  t.regex(agents, /^LoadCredential=nats\.nk:\/etc\/gleaner\/nats\/agents\.nk$/m);
  t.regex(agents, /^Environment=\S+_NKEYSEEDFILE=%d\/nats\.nk \S+=_INBOX_gleaner_agents$/m);
  t.false(existsSync(layout.at('/etc/systemd/system/gleaner-aggregator.service.d')));
  // The service `actions` asks agents, and so is an operator on NATS.
  const actions = read('/etc/systemd/system/gleaner-actions.service.d/nats.conf');
  t.regex(actions, /^LoadCredential=nats\.nk:\/etc\/gleaner\/nats\/operator\.nk$/m);
  t.regex(actions, /GLEANER_NATS_INBOXPREFIX=_INBOX_gleaner_operator$/m);
  writeFileSync(join(layout.at(layout.nats), 'hook-b.nk'), 'SU');
  t.throws(() => put('1.0.0'), { code: 'GLN_USAGE', message: /hook-a\.nk, hook-b\.nk/ });
});

test('remove stops services, restores limits, then deletes only its own files', async (t) => {
  const { layout, serviceManager, put } = installFixture(t);
  put('1.0.0', ['hook', 'agents']);
  mkdirSync(layout.at(layout.state), { recursive: true });
  writeFileSync(join(layout.at(layout.state), 'audit.jsonl'), '{}');
  const theirs = ['/etc/systemd/system/nats.service', '/etc/other.conf', '/usr/local/bin/tool'];
  for (const path of theirs) writeFileSync(layout.at(path), 'theirs');
  serviceManager.take();
  const usual = { layout, services: serviceManager, keepConfig: false, changedActions: () => [] };
  await t.throwsAsync(
    remove({
      ...usual,
      restore: async () => ({ notRestored: ['wsk0_1_guest_f (its loan of memory is in use)'] }),
    }),
    {
      code: 'GLN_LIMITS_NOT_RESTORED',
      message: /wsk0_1_guest_f \(its loan/,
    },
  );
  t.true(existsSync(layout.at(UNIT)));
  const restore = async (): Promise<{ notRestored: readonly string[] }> => {
    serviceManager.calls.push(`restore with units ${existsSync(layout.at(UNIT))}`);
    return { notRestored: [] };
  };
  serviceManager.take();
  const removed = await remove({ ...usual, restore });
  t.deepEqual(serviceManager.take(), [
    'disable gleaner-hook.service,gleaner-agents.service',
    'restore with units true',
    'reload',
  ]);
  t.true(removed.includes(UNIT));
  t.deepEqual(remainsOf(layout), []);
  t.deepEqual([...times(layout.root).keys()].sort(), theirs.map((path) => path.slice(1)).sort());
  await t.throwsAsync(remove({ ...usual, restore }), { code: 'GLN_NOT_INSTALLED' });
});

test('remove refuses while OpenWhisk has changed limits', async (t) => {
  const { layout, put } = installFixture(t);
  put('1.0.0', ['agents', 'actions']);
  const journal = layout.at(join(layout.state, 'actions.journal'));
  mkdirSync(layout.at(layout.state), { recursive: true });
  const line = { v: 1, function: '/guest/thumbs', at: 1 };
  const intent = {
    ...line,
    kind: 'intent',
    version: '0.0.1',
    original: { memory: 512 },
    to: { memory: 256 },
  };
  const done = { ...line, kind: 'done', version: '0.0.2' };
  const lines = (...entries: object[]): void =>
    writeFileSync(journal, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  lines(intent, done);
  const stopped = await gleaner(['remove', '--root', layout.root]);
  t.is(stopped.code, 1);
  t.regex(stopped.err, /changed limits of 1 actions: \/guest\/thumbs \[GLN_ACTIONS_NOT_UNDONE\]/);
  t.true(existsSync(journal));
  writeFileSync(journal, 'no journal\n');
  t.is((await gleaner(['remove', '--root', layout.root])).code, 1);
  t.true(existsSync(journal));
  lines(intent, done, { ...line, kind: 'closed', why: 'undone' });
  t.is((await gleaner(['remove', '--root', layout.root])).code, 0);
  t.deepEqual(remainsOf(layout), []);
  // Unless told to leave them.
  put('1.0.0', ['actions']);
  mkdirSync(layout.at(layout.state), { recursive: true });
  lines(intent, done);
  t.is((await gleaner(['remove', '--root', layout.root, '--leave-actions'])).code, 0);
  t.deepEqual(remainsOf(layout), []);
});

test('remove --root neither restores on this host nor reads its configuration', async (t) => {
  const { layout, put } = installFixture(t);
  put('1.0.0');
  // No engine answers on a plain file, so that a restore would fail.
  const stateDir = layout.at(layout.state);
  const hook = { engineSocket: layout.at(layout.manifest), stateDir };
  writeFileSync(layout.at(layout.config), JSON.stringify({ hook }));
  const { code, err } = await gleaner(['remove', '--root', layout.root], {
    GLEANER_CONFIG: '/missing/gleaner.yaml',
  });
  t.is(code, 0, err);
  t.deepEqual(remainsOf(layout), []);
});

test('remove restores whatever is wrong with the configuration, before it deletes', async (t) => {
  const folder = temporaryFolder('damaged');
  const file = join(folder, 'gleaner.yaml');
  const socket = join(folder, 'docker.sock');
  const restorer = (text: string, ...set: string[]) => {
    writeFileSync(file, text);
    return restorerOf(layoutOf('/'), { config: file, set });
  };
  // Nothing there: no engine, no limit.
  const good = `hook: { stateDir: ${folder}, engineSocket: ${socket}`;
  for (const text of [`${good}, bogus: 1 }`, `${good}, sampleMs: soon }`])
    t.deepEqual(await restorer(text)(), { notRestored: [] }, text);
  const flags = [`hook.stateDir=${folder}`, `hook.engineSocket=${socket}`];
  t.deepEqual(await restorer('hook: {', ...flags)(), { notRestored: [] });
  // No engine answers on a plain file: what cannot be restored keeps everything.
  writeFileSync(socket, '');
  await t.throwsAsync(restorer(`${good}, bogus: 1 }`)());
  await t.throwsAsync(restorer('hook: {', ...flags)());
  t.throws(() => restorer(`${good} }`, 'hook.stateDr=/x'), { code: 'GLN_CONFIG_INVALID' });
});

test('without an installation, check, remove and a rollback say that there is none', async (t) => {
  const { layout } = installFixture(t);
  for (const args of [['check'], ['remove'], ['install', '--rollback']]) {
    const { code, err } = await gleaner([...args, '--root', layout.root]);
    t.is(code, 1);
    t.is(
      err,
      `gleaner: nothing is installed below ${layout.root} [GLN_NOT_INSTALLED]\n` +
        '  `gleaner install` installs Gleaner; --root names another folder\n',
    );
  }
});

test('install --part takes the names of services, once or repeated', async (t) => {
  const { layout } = installFixture(t);
  const wrong = await gleaner(['install', '--part', 'foo', '--root', layout.root]);
  t.is(wrong.code, 2);
  t.regex(wrong.err, /'foo' is invalid: Allowed choices are hook, agents, aggregator, actions/);
  t.false(existsSync(layout.root));
  const args = ['install', '--part', 'agents', '--part=aggregator', '--root', layout.root];
  t.is((await gleaner(args)).code, 0);
  t.deepEqual(readdirSync(layout.at(layout.units)).sort(), [
    'gleaner-agents.service',
    'gleaner-aggregator.service',
  ]);
});

test('remove --keep-config keeps configuration and seeds', async (t) => {
  const { layout, put } = installFixture(t);
  put('1.0.0', ['agents'], null);
  await remove({
    layout,
    services: null,
    keepConfig: true,
    changedActions: null,
    restore: () => Promise.reject(new Error('not asked')),
  });
  t.deepEqual(remainsOf(layout), [layout.configFolder]);
  t.true(existsSync(layout.at(layout.config)));
});

test('systemctl waits as long as stop, restore and start of the hook may take', (t) => {
  const unit = readFileSync('deploy/systemd/gleaner-hook.service', 'utf8');
  const [start, stop] = ['Start', 'Stop'].map((what) =>
    Number(new RegExp(`^Timeout${what}Sec=(\\d+)$`, 'm').exec(unit)?.[1]),
  ) as [number, number];
  // systemd-system.conf(5): the defaults of both are 90 s. Each phase of a stop has this time;
  // ExecStopPost is the second.
  t.true(stop >= 90 && start >= 90, `${start} ${stop}`);
  t.regex(unit, /^ExecStopPost=.* restore --local$/m);
  t.true(SYSTEMCTL_TIMEOUT_MILLIS >= (2 * stop + start) * 1000);
});
