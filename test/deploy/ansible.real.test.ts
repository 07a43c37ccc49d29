import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { parse } from 'yaml';
import { layoutOf } from '../../cli/install/index.js';
import { writeNatsConfig } from '../../cli/nats-config/index.js';
import { gleaner } from '../support/gleaner.js';
import { missing } from '../support/real-parts.js';
import { remainsOf } from '../support/remains.js';
import { allowed } from '../support/slowness.js';

const programs: [string, ...string[]][] = [
  ['ansible-playbook', '--version'],
  ['openssl', 'version'],
];
const FOLDER = resolve('deploy/ansible');

const playbook = (args: readonly string[], variables: NodeJS.ProcessEnv = {}) => {
  const env = {
    ...process.env,
    ...variables,
    ANSIBLE_NOCOLOR: '1',
    ANSIBLE_PIPELINING: '1',
    ANSIBLE_LOCALHOST_WARNING: 'False',
    LC_ALL: 'C.UTF-8',
  };
  return spawnSync('ansible-playbook', args, { encoding: 'utf8', env, timeout: 120_000 });
};

const play = (t: ExecutionContext, ...args: string[]): string => {
  const { status, stdout, stderr } = playbook(args);
  t.is(status, 0, `${stdout}\n${stderr}`);
  return stdout;
};

test.serial('the playbooks pass a syntax check', (t) => {
  if (missing(t, programs)) return;
  for (const name of ['gleaner.yml', 'remove.yml'])
    play(t, '-i', 'localhost,', '--syntax-check', join(FOLDER, name));
});

/** A folder with an archive and the credentials of two invokers and of any agent host. */
function packed(t: ExecutionContext) {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-ansible-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const made = spawnSync(process.execPath, ['scripts/package.mjs', folder], { encoding: 'utf8' });
  t.is(made.status, 0, made.stderr);
  const nats = join(folder, 'nats');
  const hosts = {
    hosts: ['127.0.0.1'],
    hooks: ['invoker0', 'invoker1'],
    agents: [],
    rotate: [],
    certificates: null,
  };
  const settings = { folder: nats, listen: '127.0.0.1:4222', storeFolder: folder, ...hosts };
  writeNatsConfig(settings);
  const rotate = (name: string) => writeNatsConfig({ ...settings, rotate: [name] });
  return { folder, archive: made.stdout.trim(), nats, rotate };
}

/** As OpenWhisk's invoker role includes its plugins. */
const INVOKER = `
- hosts: all
  gather_facts: false
  tasks:
    - name: include plugins
      include_tasks: "{{ inv_item }}.yml"
      with_items: "{{ invoker_plugins | default([]) }}"
      loop_control:
        loop_var: inv_item
`;

test.serial(
  'the role installs Gleaner on an invoker host, a second run changes nothing, remove removes it',
  async (t) => {
    if (missing(t, programs)) return;
    t.timeout(allowed(400_000));
    const { folder, archive, nats } = packed(t);
    const root = join(folder, 'host');
    const variables = {
      invoker_plugins: [join(FOLDER, 'invoker-plugin')],
      ansible_python_interpreter: 'python3',
      gleaner_archive: archive,
      gleaner_root: root,
      gleaner_node: process.execPath,
      gleaner_manage_packages: false,
      gleaner_become: false,
      gleaner_parts: ['hook', 'actions'],
      gleaner_openwhisk_keys: join(folder, 'keys'),
      gleaner_nats_folder: nats,
      gleaner_nats_host: 'invoker0',
      gleaner_config: {
        mode: 'observe',
        hook: { hostName: 'invoker0', engineSocket: join(folder, 'no-docker.sock') },
      },
    };
    writeFileSync(join(folder, 'variables.json'), JSON.stringify(variables));
    writeFileSync(join(folder, 'invoker.yml'), INVOKER);
    writeFileSync(join(folder, 'keys'), 'uuid:key\n', { mode: 0o644 });
    const args = [
      ...['-i', 'localhost,', '-c', 'local', '-e', `@${join(folder, 'variables.json')}`],
      join(folder, 'invoker.yml'),
    ];
    const deploy = (...more: string[]): string => play(t, ...args, ...more);

    // What it would do, on a host that has nothing yet.
    t.notRegex(deploy('--check', '--diff'), /changed=0/);
    t.false(existsSync(root));
    t.notRegex(deploy(), /changed=0/);
    const { at } = layoutOf(root);
    t.like(parse(readFileSync(at('/etc/gleaner/gleaner.yaml'), 'utf8')), { mode: 'observe' });
    t.is(
      readFileSync(at('/etc/gleaner/nats/hook.nk'), 'utf8'),
      readFileSync(join(nats, 'hook-invoker0.nk'), 'utf8'),
    );
    t.is(statSync(at('/etc/gleaner/nats/hook.nk')).mode & 0o777, 0o600);
    t.false(existsSync(at('/etc/gleaner/nats/viewer.nk')));
    t.regex(
      readFileSync(at('/etc/systemd/system/gleaner-hook.service.d/nats.conf'), 'utf8'),
      /nats\/hook\.nk/,
    );
    // This host follows OpenWhisk's actions, too: the operator's seed and the keys, for their owner
    // alone.
    t.is(readFileSync(at('/etc/gleaner/openwhisk.keys'), 'utf8'), 'uuid:key\n');
    t.is(statSync(at('/etc/gleaner/openwhisk.keys')).mode & 0o777, 0o600);
    t.true(existsSync(at('/etc/systemd/system/gleaner-actions.service')));
    t.is(
      readFileSync(at('/etc/gleaner/nats/operator.nk'), 'utf8'),
      readFileSync(join(nats, 'operator.nk'), 'utf8'),
    );
    t.is((await gleaner(['check', '--root', root])).code, 0);
    t.regex(deploy(), /changed=0 /);
    // A configuration that is not valid never gets there.
    writeFileSync(
      join(folder, 'variables.json'),
      JSON.stringify({ ...variables, gleaner_config: { moed: 'x' } }),
    );
    t.not(spawnSync('ansible-playbook', args, { timeout: 120_000 }).status, 0);
    t.like(parse(readFileSync(at('/etc/gleaner/gleaner.yaml'), 'utf8')), { mode: 'observe' });

    t.is((await gleaner(['remove', '--root', root])).code, 0);
    t.deepEqual(remainsOf(layoutOf(root)), []);
  },
);

test.serial('the variables of docs/install.md install invokers and agent hosts', (t) => {
  if (missing(t, programs)) return;
  t.timeout(allowed(400_000));
  const { folder, archive, nats } = packed(t);
  const [all, invokers] = [
    ...readFileSync('docs/install.md', 'utf8').matchAll(/^```yaml\n([\s\S]*?)^```/gm),
  ].map((block) => block[1]!);
  t.regex(all!, /^gleaner_config:/m);
  t.regex(invokers!, /^gleaner_nats_host:/m);
  mkdirSync(join(folder, 'group_vars'));
  // It is checked below no other root.
  const onHosts = all!.replaceAll('/etc/gleaner/nats', nats);
  writeFileSync(join(folder, 'group_vars/all'), onHosts);
  writeFileSync(join(folder, 'group_vars/invokers'), invokers!);
  // `both` is invoker and agent host.
  const inventory = join(folder, 'inventory');
  writeFileSync(
    inventory,
    ['[invokers]', 'invoker', 'both', '[gleaner_agents]', 'both', 'decides'].join('\n'),
  );
  const given = {
    ansible_connection: 'local',
    ansible_python_interpreter: 'python3',
    ansible_become: false,
    gleaner_archive: archive,
    gleaner_nats_folder: nats,
    gleaner_root: `${folder}/{{ inventory_hostname }}`,
    gleaner_node: process.execPath,
    gleaner_manage_packages: false,
  };
  const deploy = (more: object = {}) =>
    playbook([
      ...['-i', inventory, '-e', JSON.stringify({ ...given, ...more })],
      `${FOLDER}/gleaner.yml`,
    ]);
  const first = deploy();
  t.is(first.status, 0, `${first.stdout}\n${first.stderr}`);
  const read = (host: string, path: string): string =>
    readFileSync(join(folder, host, 'etc/gleaner', path), 'utf8');
  const seed = (name: string): string => readFileSync(join(nats, name), 'utf8');
  t.is(read('invoker', 'nats/hook.nk'), seed('hook-invoker0.nk'));
  t.is(read('both', 'nats/hook.nk'), seed('hook-invoker1.nk'));
  t.like(parse(read('both', 'gleaner.yaml')), { hook: { hostName: 'invoker1' } });
  for (const host of ['both', 'decides'])
    for (const name of ['agents.nk', 'aggregator.nk']) t.is(read(host, `nats/${name}`), seed(name));
  t.deepEqual(parse(read('decides', 'gleaner.yaml')).hook, {});
  t.is(existsSync(join(folder, 'decides/etc/gleaner/nats/hook.nk')), false);
  // A seed that is not there is named.
  const wrong = deploy({ gleaner_nats_agents: 'unknown' });
  t.not(wrong.status, 0);
  t.regex(wrong.stdout, /has no agents-unknown\.nk for the part agents/);
});

test.serial('the services restart when a seed changes, and only then', (t) => {
  if (missing(t, programs)) return;
  t.timeout(allowed(400_000));
  const { folder, archive, nats, rotate } = packed(t);
  const log = join(folder, 'log');
  writeFileSync(log, '');
  writeFileSync(join(folder, 'systemctl'), `#!/bin/sh\necho "$@" >> ${log}\n`, { mode: 0o755 });
  const given = {
    ansible_python_interpreter: 'python3',
    gleaner_become: false,
    gleaner_archive: archive,
    gleaner_nats_folder: nats,
    gleaner_nats_host: 'invoker0',
    gleaner_root: join(folder, 'host'),
    // As at the root /, where systemd would run.
    gleaner_runs: true,
    gleaner_node: process.execPath,
    gleaner_manage_packages: false,
    invoker_plugins: [join(FOLDER, 'invoker-plugin')],
  };
  writeFileSync(join(folder, 'invoker.yml'), INVOKER);
  const restarts = (): string => {
    writeFileSync(log, '');
    const { status, stdout } = playbook(
      [
        ...['-i', 'localhost,', '-c', 'local', '-e', JSON.stringify(given)],
        join(folder, 'invoker.yml'),
      ],
      { PATH: `${folder}:${process.env.PATH}` },
    );
    t.is(status, 0, stdout);
    return readFileSync(log, 'utf8');
  };
  const all = 'try-restart gleaner-*.service\n';
  t.is(restarts(), all);
  t.is(restarts(), '');
  rotate('hook-invoker0');
  t.is(restarts(), all);
});
