import { execFileSync, spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { stringify } from 'yaml';
import { engineLockPath, HookLock } from '../../openwhisk-plugin/host/lock/index.js';
import { runContainer } from '../openwhisk-plugin/host/cgroup/real-containers.js';
import { freePort } from '../support/free-port.js';
import { until } from '../support/gleaner.js';
import { docker, dockerAndTap, missing } from '../support/real-parts.js';
import { allowed } from '../support/slowness.js';

const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8' }).trim();
const IMAGE = 'gleaner-recipe-test';

/**
 * An image of this host's own programs, if there is no registry of images: what the recipe needs of
 * any base.
 */
async function baseImage(): Promise<string> {
  const found = ['node', 'ln', 'ls', 'env', 'tcpdump', 'setpriv', 'chrt', 'flock'].map((name) =>
    run('sh', '-c', `command -v ${name}`),
  );
  const programs = ['/bin/sh', ...found];
  const libraries = [...run('ldd', ...programs).matchAll(/(\/[^\s():]+)/g)].map(
    (match) => match[1]!,
  );
  const files = [...new Set([...programs, ...libraries])].map((path) => path.slice(1));
  const folders = ['usr/local/bin', 'tmp'];
  const more = ['etc/passwd', 'etc/group', '--no-recursion', ...folders];
  await new Promise<void>((resolve, reject) => {
    const tar = spawn('tar', ['-C', '/', '-chf', '-', ...files, ...more], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const load = spawn('docker', ['import', '-', `${IMAGE}-base`], {
      stdio: [tar.stdout, 'ignore', 'inherit'],
    });
    load.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`docker import ended with ${code}`)),
    );
  });
  return `${IMAGE}-base`;
}

test.serial(
  'the image runs the hook with the flags of run.sh: it boosts and restores host containers',
  async (t) => {
    if (missing(t, dockerAndTap)) return;
    t.timeout(allowed(180_000));
    const folder = mkdtempSync(join(tmpdir(), 'gleaner-container-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    copyFileSync('deploy/container/Dockerfile', join(folder, 'Dockerfile'));
    run(process.execPath, 'scripts/package.mjs', folder);
    const base = await baseImage();
    docker('build', '-q', '--force-rm', '--build-arg', `BASE=${base}`, '-t', IMAGE, folder);
    t.teardown(() => docker('rmi', '-f', IMAGE, base));
    const port = await freePort();
    const etc = join(folder, 'etc');
    const state = join(folder, 'state');
    for (const each of [etc, state]) mkdirSync(each);
    writeFileSync(
      join(etc, 'gleaner.yaml'),
      stringify({
        mode: 'enforce',
        hook: { containerPrefix: 'wskglimage0' },
        metrics: { hook: `127.0.0.1:${port}` },
      }),
    );
    const env = { ...process.env, GLEANER_ETC: etc, GLEANER_STATE: state };
    const child = spawn('sh', ['deploy/container/run.sh', IMAGE], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let log = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (log += chunk));
    const ended = new Promise((resolve) => child.on('exit', resolve));
    t.teardown(() => {
      child.kill('SIGKILL');
      // Killing the client leaves the container, and with it the lock of the engine.
      if (docker('ps', '-aq', '--filter', 'name=^gleaner-hook$') !== '')
        docker('rm', '-f', 'gleaner-hook');
    });
    try {
      await until(() => log.includes('containers adopted'), 30_000, 'it starts');
    } catch {
      t.fail(log);
      return;
    }
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    t.regex(metrics, /^gleaner_/m);
    const name = 'wskglimage0_1_guest_hello';
    const id = await runContainer(name, 'setInterval(() => {}, 1000)');
    t.teardown(() => docker('rm', '-f', name));
    const v1 = `/sys/fs/cgroup/cpu/docker/${id}/cpu.shares`;
    const path = (): string => {
      const pid = docker('inspect', '--format', '{{.State.Pid}}', id);
      const group = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split(':').at(-1)!;
      return join('/sys/fs/cgroup', group, 'cpu.weight');
    };
    const weight = existsSync(v1) ? v1 : path();
    // runc and crun convert 128 shares to a weight of 5 or 21; the boost multiplies it.
    const user = weight === v1 ? [128] : [5, 21];
    const read = (): number => Number(readFileSync(weight, 'utf8'));
    await until(() => read() > 2 * Math.max(...user), 10_000, `boosted: ${log}`);
    // The lock is a link to nothing, which only a listing shows.
    t.true(readdirSync(state).includes('hook.lock'));
    // A hook with another state folder, beside the container, finds its engine taken.
    const engineLock = engineLockPath('/var/run/docker.sock', folder);
    await t.throwsAsync(HookLock.acquire(engineLock), { code: 'GLN_HOOK_LOCKED' });
    docker('stop', 'gleaner-hook');
    t.is(await ended, 0, log);
    t.true(user.includes(read()));
  },
);
