import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { stringify } from 'yaml';
import { install, layoutOf } from '../../cli/install/index.js';
import { runContainer } from '../openwhisk-plugin/host/cgroup/real-containers.js';
import { processesWith, until } from '../support/gleaner.js';
import { docker, dockerAndTap, missing } from '../support/real-parts.js';
import { remainsOf } from '../support/remains.js';
import { removeInstallation } from '../support/remove-installation.js';
import { allowed } from '../support/slowness.js';
import { kernelFile, numberIn, weightFile } from './kernel-file.js';

/** As the unit has it, beside what it is root for. */
const KEPT = ['kill', 'net_raw', 'setuid', 'setgid', 'setpcap'];

const status = (pid: number, key: string): string =>
  new RegExp(`^${key}:\\s*(.*)$`, 'm')
    .exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    ?.trim() ?? '';

test.serial(
  'with its unit’s capabilities alone the hook listens and writes limits; tcpdump has NET_RAW',
  async (t) => {
    if (missing(t, [...dockerAndTap, ['setpriv', '--version']])) return;
    t.timeout(allowed(120_000));
    const folder = mkdtempSync(join(tmpdir(), 'gleaner-rights-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const config = join(folder, 'gleaner.yaml');
    const hook = { stateDir: folder, containerPrefix: 'wskglrights0' };
    writeFileSync(config, stringify({ mode: 'enforce', hook, metrics: { hook: null } }));
    const names = KEPT.map((name) => `+${name}`).join(',');
    const drop = [`--bounding-set=-all,${names}`, '--inh-caps=-all', '--no-new-privs'];
    const args = [...drop, process.execPath, 'dist/cli/main.js', '--config', config, 'hook'];
    const child = spawn('setpriv', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => (log += chunk));
    const ended = new Promise((resolve) => child.on('exit', resolve));
    t.teardown(() => child.kill('SIGKILL'));
    await until(() => log.includes('containers adopted'), 20_000, `started: ${log}`);
    // CAP_KILL 5, CAP_SETGID 6, CAP_SETUID 7, CAP_SETPCAP 8, CAP_NET_RAW 13.
    t.is(
      Number.parseInt(status(child.pid!, 'CapEff'), 16),
      (1 << 5) | (1 << 6) | (1 << 7) | (1 << 8) | (1 << 13),
    );

    const name = `wskglrights0_1_guest_hello`;
    const id = await runContainer(name, 'setInterval(() => {}, 1000)');
    t.teardown(() => docker('rm', '-f', name));
    const weight = weightFile(id);
    // 128 shares by the user; a container that starts gets sixteen times as many.
    const user = weight.endsWith('cpu.shares') ? 128 : 21;
    await until(() => numberIn(weight) > user * 2, 10_000, `boosted: ${log}`);
    const sniffers = () => processesWith('tcpdump -i').filter(({ pid }) => pid !== child.pid);
    await until(
      () => sniffers().some(({ pid }) => parentOf(pid) === child.pid),
      10_000,
      'tcpdump listens',
    );
    const sniffer = sniffers().find(({ pid }) => parentOf(pid) === child.pid)!;
    t.is(Number.parseInt(status(sniffer.pid, 'CapEff'), 16), 1 << 13);
    t.notRegex(status(sniffer.pid, 'Uid'), /^0\b/);
    t.is(status(sniffer.pid, 'NoNewPrivs'), '1');
    // It signals tcpdump, another user's process, for its counters every few seconds: it must be
    // allowed to.
    await new Promise((resolve) => setTimeout(resolve, 5500));
    t.is(child.exitCode, null, log);
    t.true(existsSync(`/proc/${sniffer.pid}`));
    child.kill('SIGTERM');
    t.is(await ended, 0, log);
    // runc and crun convert 128 shares to a weight of 5 or 21.
    t.true((weight.endsWith('cpu.shares') ? [128] : [5, 21]).includes(numberIn(weight)));
  },
);

const parentOf = (pid: number): number => {
  try {
    return Number(status(pid, 'PPid'));
  } catch {
    return -1;
  }
};

test.serial(
  'remove gives every limit back that a killed hook has left changed, and leaves nothing of ours',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    t.timeout(allowed(120_000));
    const folder = mkdtempSync(join(tmpdir(), 'gleaner-remove-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const layout = layoutOf(join(folder, 'root'));
    install({
      layout,
      from: process.cwd(),
      parts: ['hook'],
      node: process.execPath,
      services: null,
      checkConfig: null,
    });
    writeFileSync(
      layout.at(layout.config),
      stringify({ mode: 'enforce', hook: { stateDir: folder, containerPrefix: 'wskglremove0' } }),
    );
    const name = 'wskglremove0_1_guest_hello';
    const id = await runContainer(name, 'setInterval(() => {}, 1000)');
    t.teardown(() => docker('rm', '-f', name));
    const weight = weightFile(id);
    const memory = kernelFile(id, ['memory', 'memory.limit_in_bytes'], 'memory.max');
    const [userWeight, userMemory] = [numberIn(weight), numberIn(memory)];
    t.is(userMemory, 256 * 1024 * 1024);
    writeFileSync(weight, String(userWeight * 4));
    writeFileSync(memory, String(192 * 1024 * 1024));
    await removeInstallation(layout);
    t.deepEqual([numberIn(weight), numberIn(memory)], [userWeight, userMemory]);
    t.deepEqual(remainsOf(layout), []);
  },
);
