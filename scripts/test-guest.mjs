/**
 * `npm run test:guest [-- options] [files]`: the tests on real parts in a virtual machine with
 * cgroup v2, systemd and Docker's systemd driver (test/guest/README.md). Root only. Options:
 *
 *   --suite <name>         Debian's release; default bookworm
 *   --slowness <factor>    on the time that tests may take; default 10
 *   --memory <MiB>         default 3072
 *   --run <command>        instead of tests: a command of bash, in the product's folder
 *
 * Without files: every file of tests on real parts but those that need what NOT_HERE names.
 */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { guestImage, makeDisk, run } from './guest/image.mjs';
import { runGuest } from './guest/machine.mjs';
import { resultsByFile } from './tap.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    suite: { type: 'string', default: 'bookworm' },
    slowness: { type: 'string', default: '10' },
    memory: { type: 'string', default: '3072' },
    run: { type: 'string' },
  },
});
const { suite, slowness } = values;

const commandPath = (name) =>
  spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();

/** Programs and the packages that have them. */
const lacking = Object.entries({
  mmdebstrap: 'mmdebstrap',
  mke2fs: 'e2fsprogs',
  'nats-server': 'nats-server',
  'linux.uml': 'user-mode-linux',
}).filter(([program]) => commandPath(program) === '');
if (lacking.length > 0)
  stop(`apt-get install --no-install-recommends ${lacking.map(([, name]) => name).join(' ')}`);
if (process.getuid() !== 0) stop('run it as root: it makes file systems with other owners');
if (!existsSync(join(root, 'dist/test'))) stop('run `npm run build`');

function stop(advice) {
  console.error(`test:guest: cannot run\n  ${advice}`);
  process.exit(2);
}

/** What the guest has not, or has too little of. */
const NOT_HERE = {
  browser: /^dashboard\//,
  OpenWhisk: /^openwhisk\//,
  Ansible: /^deploy\/ansible/,
  promtool: /^deploy\/metrics/,
  'the native TensorFlow': /^agents\/nn\/engines/,
  hours: /^(docs|soak)\//,
};
const isHere = (name) => !Object.values(NOT_HERE).some((pattern) => pattern.test(name));
const files =
  positionals.length > 0
    ? positionals
    : readdirSync(join(root, 'dist/test'), { recursive: true })
        .filter((name) => name.endsWith('.real.test.js') && isHere(name))
        .map((name) => `dist/test/${name}`)
        .sort();

/** Development packages that no test on real parts loads. */
const WITHOUT = [
  ...['@tensorflow', '@biomejs', '@stryker-mutator', '@typescript', 'typescript', '@swc'],
  ...['binaryen', 'assemblyscript', 'playwright-core', 'core-js', 'knip', 'dependency-cruiser'],
].map((name) => `--exclude=./node_modules/${name}`);
/** Longer than any file takes on a machine of its own. */
const FILE_SECONDS = 90;
const AVA = 'node node_modules/ava/entrypoints/cli.mjs --tap';
const PRODUCT_BYTES = 3 * 1024 ** 3;

/** What the guest runs: each file alone, so that one that hangs takes no other with it. */
function jobOf() {
  const lines = [
    'export GLEANER_TEST_REAL=1',
    // A program that is missing there fails a test; and tests may install services.
    'export CI=true',
    'export GLEANER_TEST_OWN_MACHINE=1',
    `export GLEANER_TEST_SLOWNESS=${slowness}`,
  ];
  // Installed and built as they are: `npm start` shall do neither there.
  lines.push('touch node_modules/.package-lock.json dist/cli/main.js');
  // A slow machine starts it late.
  lines.push('for i in $(seq 300); do docker version &>/dev/null && break; sleep 1; done');
  if (values.run !== undefined) return `${lines.join('\n')}\n${values.run}\n`;
  for (const file of files)
    lines.push(
      `echo '# guest: ${file}'`,
      'begun=$SECONDS',
      `timeout --kill-after=30 ${FILE_SECONDS * slowness} ${AVA} ${file}`,
      `echo "# guest: $? after $((SECONDS - begun)) s"`,
    );
  return `${lines.join('\n')}\ntrue\n`;
}

const scratch = mkdtempSync(join(tmpdir(), 'gleaner-guest-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
const cache = process.env.GLEANER_GUEST_FOLDER ?? join(homedir(), '.cache', 'gleaner-guest');
mkdirSync(cache, { recursive: true });
const image = guestImage(cache, { suite, natsServer: commandPath('nats-server') });

const tree = join(scratch, 'product');
mkdirSync(tree);
const excluded = ['--exclude=./.git', '--exclude=./coverage', ...WITHOUT];
run('bash', [
  '-c',
  'set -o pipefail; from=$1 to=$2; shift 2; tar -C "$from" "$@" -cf - . | tar -C "$to" -xf -',
  ...['copy', root, tree, ...excluded],
]);
writeFileSync(join(tree, '.guest-job'), jobOf());
const product = join(scratch, 'product.ext4');
makeDisk(tree, product, PRODUCT_BYTES, 'gleaner');
rmSync(tree, { recursive: true });

const log = join(cache, 'last.log');
writeFileSync(log, '');
let output = '';
const code = await runGuest(image, product, scratch, Number(values.memory), (line) => {
  output += `${line}\n`;
  appendFileSync(log, `${line}\n`);
  console.log(line);
});
console.error(`output: ${log}`);
if (code === null) {
  console.error('test:guest: the machine ended without a result; its console:');
  spawnSync('tail', ['-n', '20', join(scratch, 'console.log')], { stdio: 'inherit' });
}
if (values.run !== undefined) process.exit(code ?? 1);

let passed = 0;
let failed = 0;
for (const [file, counts] of resultsByFile(output, (name) => existsSync(join(root, name)))) {
  passed += counts.passed;
  failed += counts.failed;
  if (counts.failed > 0) console.log(`failed: ${file} (${counts.failed})`);
}
const ended = output.match(/^# guest: \d+ after/gm)?.length ?? 0;
if (ended < files.length) failed++;
// Each of these passes without having tested anything.
const notRun = output.match(/NOT RUN:/g)?.length ?? 0;
console.log(`${ended} of ${files.length} files ended, ${notRun} tests not run`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
