import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { stringify } from 'yaml';
import { until } from '../support/gleaner.js';
import { missing } from '../support/real-parts.js';

const analyze: [string, ...string[]][] = [['systemd-analyze', '--version']];
const FOLDER = 'deploy/systemd';
const units = readdirSync(FOLDER);

const run = (...args: string[]): { status: number | null; text: string; out: string } => {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  return { status, text: `${stdout}${stderr}`, out: stdout };
};

interface Row {
  readonly name: string;
  readonly set: boolean;
  readonly exposure: string | null;
}

test.serial('the units are right, exposed at most 3.5, and each exemption has its reason', (t) => {
  if (missing(t, analyze)) return;
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-units-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  t.is(units.length, 4);
  for (const unit of units) {
    const shipped = readFileSync(join(FOLDER, unit), 'utf8');
    // As installed: with the node of this host.
    const file = join(folder, unit);
    writeFileSync(file, shipped.replaceAll('/usr/bin/node', process.execPath));
    const verified = run('verify', file);
    t.is(verified.status, 0, verified.text);
    // It warns on the standard error, with status 0, of keys it does not know.
    t.notRegex(verified.text, new RegExp(unit), verified.text);
    const secure = run('--offline=true', 'security', '--threshold=35', file);
    t.is(secure.status, 0, secure.text);
    const rows = JSON.parse(run('--offline=true', 'security', '--json=short', file).out) as Row[];
    const exempt = rows.filter(({ set }) => set === false).map(({ name }) => name);
    const reasons = new Map(
      [...shipped.matchAll(/^# (\S+=\S*) {2}(.+)$/gm)].map((row) => [row[1]!, row[2]!]),
    );
    t.deepEqual([...reasons.keys()].sort(), exempt.sort(), unit);
  }
});

test.serial(
  'a part tells systemd that it is ready, that its loop runs, and that it stops',
  async (t) => {
    if (
      missing(t, [
        ['systemd-notify', '--version'],
        ['python3', '--version'],
      ])
    )
      return;
    const folder = mkdtempSync(join(tmpdir(), 'gleaner-notify-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const socket = join(folder, 'notify');
    // Node has no datagram sockets of this kind, which is why Gleaner asks systemd-notify.
    const listen = [
      'import socket,sys',
      's=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)',
      's.bind(sys.argv[1])',
      'print("listening",flush=True)',
      'while True: print(s.recv(4096).decode(),flush=True)',
    ].join('\n');
    const receiver = spawn('python3', ['-c', listen, socket], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.teardown(() => receiver.kill('SIGKILL'));
    let told = '';
    receiver.stdout.on('data', (chunk: Buffer) => {
      told += chunk;
    });
    await until(() => told.includes('listening'), 10_000, 'a receiver');
    const config = join(folder, 'gleaner.yaml');
    writeFileSync(
      config,
      stringify({ platform: 'simulated', hook: { stateDir: folder }, metrics: { hook: null } }),
    );
    // Three pings per timeout of the watchdog, from a loop that runs once per second.
    const env = { ...process.env, NOTIFY_SOCKET: socket, WATCHDOG_USEC: '3000000' };
    const hook = spawn(process.execPath, ['dist/cli/main.js', '--config', config, 'hook'], {
      env,
      stdio: 'ignore',
    });
    t.teardown(() => hook.kill('SIGKILL'));
    const ended = new Promise((resolve) => hook.on('exit', resolve));
    await until(() => told.includes('READY=1'), 20_000, 'ready');
    const count = (): number => told.match(/WATCHDOG=1/g)?.length ?? 0;
    await until(() => count() >= 3, 10_000, 'three pings');
    // A process that is stopped pings no more; a loop that hangs does neither.
    hook.kill('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 300));
    const before = count();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    t.is(count(), before);
    hook.kill('SIGCONT');
    hook.kill('SIGHUP');
    await until(() => /RELOADING=1[\s\S]*READY=1/.test(told), 10_000, 'reloaded');
    hook.kill('SIGTERM');
    t.is(await ended, 0);
    await until(() => told.includes('STOPPING=1'), 5000, 'stopping');
    t.regex(told, /STATUS=running/);
  },
);
