import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import {
  ENGINE_LOCKS,
  engineLockPath,
  HookLock,
} from '../../../../openwhisk-plugin/host/lock/index.js';
import { temporaryFolder } from '../../../support/temporary-folder.js';

const CHILD = fileURLToPath(new URL('locking-child.js', import.meta.url));
const LOCKED = { code: 'GLN_HOOK_LOCKED' };
/** What a killed process leaves; the kernel's highest pid is 4194304. */
const STALE = '4999999 12345';

function start(t: ExecutionContext, paths: readonly string[]) {
  const child = spawn(process.execPath, [CHILD, ...paths], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const line = async (): Promise<string> => String((await once(child.stdout, 'data'))[0]);
  return { child, line };
}

test('a killed process holds no lock, even if its parent has not waited for it', async (t) => {
  // `exec` puts a program in the place of the shell that does not wait for the shell's child.
  const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 60']);
  t.teardown(() => parent.kill('SIGKILL'));
  const pid = Number(String((await once(parent.stdout, 'data'))[0]));
  const fields = (): string[] => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  };
  while (fields()[0] !== 'Z') await sleep(10);
  const path = join(temporaryFolder('lock'), 'zombie.lock');
  symlinkSync(`${pid} ${fields()[19]}`, path);
  t.is(HookLock.holder(path), null);
  (await HookLock.acquire(path)).release();
});

test('one of several processes gets a stale lock, and its end by kill -9 frees it', async (t) => {
  t.timeout(120_000);
  const folder = temporaryFolder('lock');
  const paths = Array.from({ length: 100 }, (_, i) => join(folder, `${i}.lock`));
  for (const path of paths) symlinkSync(STALE, path);
  const children = [1, 2, 3, 4].map(() => start(t, paths));
  await Promise.all(children.map(({ line }) => line()));
  const first = Date.now() + 100;
  for (const { child } of children) child.stdin.write(`${first}`);
  const lines = await Promise.all(children.map(({ line }) => line()));
  const results = lines.map((line) => JSON.parse(line) as readonly string[]);
  for (const [i, path] of paths.entries()) {
    const ofLock = results.map((result) => result[i]!).sort();
    const expected = ['GLN_HOOK_LOCKED', 'GLN_HOOK_LOCKED', 'GLN_HOOK_LOCKED', 'held'];
    if (ofLock.join() !== expected.join()) t.deepEqual(ofLock, expected, path);
  }
  // The link names the process that has it.
  const holder = children[results.findIndex((result) => result[0] === 'held')]!;
  t.is(HookLock.holder(paths[0]!), holder.child.pid!);
  await t.throwsAsync(HookLock.acquire(paths[0]!), LOCKED);
  for (const { child } of children) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  for (const path of paths) (await HookLock.acquire(path)).release();
});

test('a lock is one of its folder, whatever the path to it', async (t) => {
  const folder = temporaryFolder('lock');
  const linked = join(temporaryFolder('lock'), 'linked');
  symlinkSync(folder, linked);
  const lock = await HookLock.acquire(join(folder, 'a.lock'));
  await t.throwsAsync(HookLock.acquire(join(linked, 'a.lock')), LOCKED);
  (await HookLock.acquire(join(linked, 'b.lock'))).release();
  lock.release();
  (await HookLock.acquire(join(linked, 'a.lock'))).release();
});

test('a release removes no other process from the lock', async (t) => {
  const folder = temporaryFolder('lock');
  const path = join(folder, 'a.lock');
  const lock = await HookLock.acquire(path);
  // The state folder was replaced, and another process has begun in the new one.
  renameSync(folder, `${folder}-old`);
  t.teardown(() => rmSync(`${folder}-old`, { recursive: true }));
  mkdirSync(folder);
  symlinkSync(STALE, path);
  lock.release();
  t.is(readlinkSync(path), STALE);
});

test('a living process of an earlier release, which has only the file, is heeded', async (t) => {
  const path = join(temporaryFolder('lock'), 'a.lock');
  const lock = await HookLock.acquire(path);
  const link = readlinkSync(path);
  lock.release();
  writeFileSync(path, `${link}\n`);
  await t.throwsAsync(HookLock.acquire(path), LOCKED);
});

test('a refused lock names the process that has it, and its user', async (t) => {
  const path = join(temporaryFolder('lock'), 'hook.lock');
  const lock = await HookLock.acquire(path);
  const own = `process ${process.pid} of user ${process.getuid?.()} holds ${path}`;
  const error = await t.throwsAsync(HookLock.acquire(path), { code: 'GLN_HOOK_LOCKED' });
  t.true(error?.message.startsWith(own), error?.message);
  lock.release();
  t.deepEqual(readdirSync(dirname(path)), []);
});

test("root's hooks have one lock for an engine, other users' hooks one per state folder", (t) => {
  const path = (stateDir: string, isRoot: boolean): string =>
    engineLockPath('/run/some.sock', stateDir, isRoot);
  t.is(path('/srv/a', true), path('/srv/b', true));
  t.is(dirname(path('/srv/a', true)), ENGINE_LOCKS);
  t.is(dirname(path('/srv/a', false)), '/srv/a');
  t.not(engineLockPath('/run/other.sock', '/srv/a', true), path('/srv/a', true));
});

test('an engine has one lock, whatever links are in the path of its socket', (t) => {
  const folder = temporaryFolder('lock');
  const real = join(folder, 'run');
  const link = join(folder, 'var-run');
  mkdirSync(real);
  symlinkSync(real, link);
  const lockOf = (path: string): string => engineLockPath(join(path, 'docker.sock'), folder, false);
  // A stopped engine has no socket.
  t.is(lockOf(link), lockOf(real));
  writeFileSync(join(real, 'docker.sock'), '');
  t.is(lockOf(link), lockOf(real));
  symlinkSync(join(real, 'docker.sock'), join(folder, 'docker.sock'));
  t.is(lockOf(folder), lockOf(real));
});

const asRoot = process.getuid?.() === 0 ? test : test.skip;

asRoot('while no hook runs, another user can take none of its locks', async (t) => {
  const folder = temporaryFolder('lock');
  // As Docker and kubelet make the folder of a volume.
  chmodSync(folder, 0o755);
  const { child, line } = start(t, [join(folder, 'a.lock')]);
  await line();
  child.stdin.write('0');
  t.is(await line(), '["held"]\n');
  // Killed, it leaves its files.
  child.kill('SIGKILL');
  await once(child, 'exit');
  const script = `
    const { openSync } = require('node:fs');
    for (const [flags, file] of [['r', 'a'], ['w', 'a'], ['wx', 'b']])
      try {
        openSync('${folder}/' + file + '.lock.flock', flags);
        process.stdout.write('open ');
      } catch ({ code }) {
        process.stdout.write(code + ' ');
      }`;
  const { stdout } = spawnSync(process.execPath, ['-e', script], { uid: 65_534, cwd: '/' });
  t.is(String(stdout), 'EACCES EACCES EACCES ');
});

test('a lock that is free between two holders has one of them', async (t) => {
  const path = join(temporaryFolder('lock'), 'hook.lock');
  let held = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      for (let i = 0; i < 5; i++) {
        const lock = await HookLock.acquire(path).catch(() => null);
        if (lock === null) continue;
        most = Math.max(most, ++held);
        await new Promise((resolve) => setTimeout(resolve, 1));
        held--;
        lock.release();
      }
    }),
  );
  t.is(most, 1);
  (await HookLock.acquire(path)).release();
});
