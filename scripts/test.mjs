/**
 * `npm test`: build, then every AVA test: first those inside the process (with coverage), then, one after the other, those on
 * real parts. Ends with a plain line `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const require = createRequire(import.meta.url);
const bin = (name, file) => join(dirname(require.resolve(`${name}/package.json`)), file);

/** Runs a child, passes its output on and returns it with the exit code. */
function run(args, environment = {}) {
  return new Promise((done) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      process.stdout.write(chunk);
    });
    child.on('close', (code) => done({ code: code ?? 1, output }));
  });
}

/** AVA's TAP summary: `# pass 12` and `# fail 0`. */
function tally(output) {
  const read = (word) => Number(new RegExp(`^# ${word} (\\d+)`, 'm').exec(output)?.[1] ?? 0);
  return { passed: read('pass'), failed: read('fail') };
}

const build = await run([bin('typescript', 'bin/tsc'), '-p', 'tsconfig.json']);
if (build.code !== 0) {
  console.log('0 passed, 1 failed');
  process.exit(1);
}

const ava = bin('ava', 'entrypoints/cli.mjs');
const c8 = bin('c8', 'bin/c8.js');
const coverage = ['--temp-directory', 'coverage/tmp', '--clean=false'];
const runs = [
  await run([c8, ...coverage, '--reporter=none', process.execPath, ava, '--tap']),
  await run([c8, ...coverage, '--reporter=none', process.execPath, ava, '--tap'], { GLEANER_TEST_REAL: '1' }),
];
const report = await run([
  c8,
  'report',
  '--temp-directory',
  'coverage/tmp',
  '--reporter=text-summary',
  '--check-coverage',
  '--lines',
  '90',
]);

let passed = 0;
let failed = 0;
for (const { code, output } of runs) {
  const counted = tally(output);
  passed += counted.passed;
  failed += counted.failed;
  if (code !== 0 && counted.failed === 0) failed++;
}
if (report.code !== 0) {
  console.error('line coverage is below 90 %');
  failed++;
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
