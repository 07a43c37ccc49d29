import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { parse } from 'yaml';
import { layoutOf, remainsOf } from '../../cli/install/index.js';
import { writeNatsConfig } from '../../cli/nats-config/index.js';
import { gleaner } from '../support/gleaner.js';
import { missing } from '../support/real-parts.js';
import { allowed } from '../support/slowness.js';

const programs: [string, ...string[]][] = [
  ['ansible-playbook', '--version'],
  ['openssl', 'version'],
];
const FOLDER = resolve('deploy/ansible');

const play = (t: ExecutionContext, ...args: string[]): string => {
  const env = {
    ...process.env,
    ANSIBLE_NOCOLOR: '1',
    ANSIBLE_PIPELINING: '1',
    ANSIBLE_LOCALHOST_WARNING: 'False',
    LC_ALL: 'C.UTF-8',
  };
  const { status, stdout, stderr } = spawnSync('ansible-playbook', args, {
    encoding: 'utf8',
    env,
    timeout: 120_000,
  });
  t.is(status, 0, `${stdout}\n${stderr}`);
  return stdout;
};

test.serial('the playbooks pass a syntax check', (t) => {
  if (missing(t, programs)) return;
  for (const name of ['gleaner.yml', 'remove.yml'])
    play(t, '-i', 'localhost,', '--syntax-check', join(FOLDER, name));
});

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
    const folder = mkdtempSync(join(tmpdir(), 'gleaner-ansible-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const root = join(folder, 'host');
    const packed = spawnSync(process.execPath, ['scripts/package.mjs', folder], {
      encoding: 'utf8',
    });
    t.is(packed.status, 0, packed.stderr);
    const nats = join(folder, 'nats');
    const hosts = {
      hosts: ['127.0.0.1'],
      hooks: ['invoker0', 'invoker1'],
      agents: [],
      rotate: [],
      certificates: null,
    };
    writeNatsConfig({ folder: nats, listen: '127.0.0.1:4222', storeFolder: folder, ...hosts });
    const variables = {
      invoker_plugins: [join(FOLDER, 'invoker-plugin')],
      ansible_python_interpreter: 'python3',
      gleaner_archive: packed.stdout.trim(),
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
