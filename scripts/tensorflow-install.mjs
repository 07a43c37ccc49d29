/**
 * `npm run tensorflow:install`: tfjs-node with its native library, where its own download is out of
 * reach. Linux on x86-64; needs python3 with pip, and g++. Everything goes below .tensorflow/
 * (about 1 GB while it works, 700 MB after), which `npm ci` leaves alone; delete the folder to be
 * rid of it.
 *
 * The packages are those of package-lock.json, without their install scripts. The library is the
 * one of the tensorflow-cpu wheel, pinned by hash (scripts/tensorflow.txt); the package's own two
 * source files are compiled against its headers.
 */
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const target = join(root, '.tensorflow');
const download = join(target, 'download');
const packageFolder = join(target, 'node_modules', '@tensorflow', 'tfjs-node');
const library = join(packageFolder, 'deps', 'lib');
const include = join(packageFolder, 'deps', 'include');
const binding = join(packageFolder, 'lib', 'napi-v8');

function fail(message, hint) {
  console.error(`tensorflow:install: ${message}\n  ${hint}`);
  process.exit(1);
}

function need(...problems) {
  const found = problems.flat();
  if (found.length > 0) fail(found.join('; '), 'see the lines above');
}

/** What went wrong, or nothing. */
async function run(what, command, args, options = {}) {
  console.error(`tensorflow:install: ${what} …`);
  const child = spawn(command, args, { stdio: ['ignore', 2, 2], ...options });
  const problem = await new Promise((done) => {
    child.on('error', ({ message }) => done(`: ${message}`));
    child.on('close', (status) => done(status === 0 ? null : ''));
  });
  return problem === null ? [] : [`${what} failed${problem}`];
}

/**
 * Does it compute, and natively? In a process of its own: a library that crashes takes only that
 * with it.
 */
function works() {
  const program = `const tf = require('@tensorflow/tfjs-node');
    const sum = tf.matMul(tf.tensor2d([[1, 2]]), tf.tensor2d([[3], [4]])).dataSync()[0];
    process.exit(tf.getBackend() === 'tensorflow' && sum === 11 ? 0 : 1);`;
  const { status } = spawnSync(process.execPath, ['-e', program], {
    cwd: target,
    stdio: 'ignore',
    env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: '2' },
  });
  return status === 0;
}

if (process.platform !== 'linux' || process.arch !== 'x64')
  fail(
    `there is no recipe for ${process.platform} on ${process.arch}`,
    'the engine `tensorflow` runs without it, slower',
  );
if (existsSync(packageFolder) && works()) {
  console.error('tensorflow:install: it is there already and computes');
  process.exit(0);
}
for (const [command, hint] of [
  ['g++', 'Debian, Ubuntu: apt-get install g++'],
  ['python3', 'Debian, Ubuntu: apt-get install python3 python3-pip'],
  ['strip', 'Debian, Ubuntu: apt-get install binutils'],
])
  if (spawnSync(command, ['--version'], { stdio: 'ignore' }).status !== 0)
    fail(`${command} was not found`, hint);
const napi = join(root, 'node_modules', 'node-api-headers', 'include');
if (!existsSync(napi))
  fail('node-api-headers is missing', 'run npm ci first, with development packages');

rmSync(target, { recursive: true, force: true });
mkdirSync(download, { recursive: true });
for (const file of ['package.json', 'package-lock.json'])
  copyFileSync(join(root, file), join(target, file));
const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
const quiet = [
  'ci',
  '--ignore-scripts',
  '--omit=dev',
  '--no-audit',
  '--no-fund',
  '--loglevel=error',
];
const packages = run(
  'installing the packages of package-lock.json',
  npm[0],
  [...npm.slice(1), ...quiet],
  { cwd: target },
);

const pip = [
  '-m',
  'pip',
  'download',
  '--quiet',
  '--disable-pip-version-check',
  '--no-deps',
  '--only-binary',
  ':all:',
];
const wheelFor = ['--python-version', '3.11', '--platform', 'manylinux2014_x86_64'];
const pinned = [
  '--require-hashes',
  '--requirement',
  join(root, 'scripts', 'tensorflow.txt'),
  '--dest',
  download,
];
const fetched = run(
  'fetching TensorFlow’s library (187 MB)',
  'python3',
  [...pip, ...wheelFor, ...pinned],
  { env: { ...process.env, PIP_ROOT_USER_ACTION: 'ignore' } },
);
// Beside each other: one is mostly small files, the other one large download. Neither may go on
// when this process has ended.
need(...(await Promise.all([packages, fetched])));

const wheel = readdirSync(download).find((file) => file.endsWith('.whl'));
const unpack = `
import os, re, sys, zipfile
wheel, library, include = sys.argv[1:]
wanted = re.compile(r'tensorflow/include/((tensorflow/)?(c|tsl/c)/.*|'
                    r'(tensorflow/core|tensorflow/tsl|tsl)/platform/ctstring.*)')
libraries = re.compile(r'tensorflow/libtensorflow_(cc|framework)\\.so\\.2')
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        header = wanted.fullmatch(name)
        if header: path = os.path.join(include, header.group(1))
        elif libraries.fullmatch(name): path = os.path.join(library, os.path.basename(name))
        else: continue
        if name.endswith('/'): continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with archive.open(name) as source, open(path, 'wb') as out:
            while chunk := source.read(1 << 20): out.write(chunk)
`;
need(await run('unpacking it', 'python3', ['-c', unpack, join(download, wheel), library, include]));
const files = ['libtensorflow_cc.so.2', 'libtensorflow_framework.so.2'];
need(
  await run('stripping it', 'strip', [
    '--strip-unneeded',
    ...files.map((file) => join(library, file)),
  ]),
);
symlinkSync(files[0], join(library, 'libtensorflow.so'));
symlinkSync(files[1], join(library, 'libtensorflow_framework.so'));

mkdirSync(binding, { recursive: true });
need(
  await run('compiling tfjs-node’s binding', 'g++', [
    ...['-std=c++17', '-O2', '-fPIC', '-shared', '-w', '-DNAPI_VERSION=8'],
    ...['-I', packageFolder, '-I', include, '-I', napi],
    ...['tfjs_backend.cc', 'tfjs_binding.cc'].map((file) => join(packageFolder, 'binding', file)),
    ...[
      '-L',
      library,
      '-ltensorflow',
      '-ltensorflow_framework',
      '-Wl,-rpath,$ORIGIN/../../deps/lib',
    ],
    ...['-o', join(binding, 'tfjs_binding.node')],
  ]),
);
rmSync(download, { recursive: true, force: true });
if (!works())
  fail('the installed library does not compute', 'the engine `tensorflow` runs without it, slower');
console.error('tensorflow:install: done; `gleaner engines` shows it');
