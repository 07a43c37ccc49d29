/**
 * `npm test`: build (not with `-- --built`), then every AVA test in four lanes side by side
 * (ava.config.js): those inside the process use the time in which the lanes on real parts wait;
 * then the line coverage of all together. Ends with a plain line `N passed, N failed`; a folder
 * below the bound counts as a failure, and so does each fault that nothing caught in any process of
 * the tests.
 *
 * A file that fails is run once more, without other tests, for tests on real parts share their
 * machine with whatever else runs on it: what fails twice has failed, and what failed once is
 * named, loudly. On a slow machine deadlines are longer (test/support/slowness.ts).
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { setPriority } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { productFolders } from './folders.mjs';
import { measuredSlowness } from './slowness.mjs';
import { merged, resultsByFile, slowestFiles } from './tap.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const MIN_COVERAGE_PERCENT = 90;
/** Not by `require.resolve`: some packages export nothing but their entry. */
const bin = (name, file) => join(root, 'node_modules', name, file);

/**
 * Runs a child, passes its output on and returns it with the exit code and the time at which each
 * line came. `niceness`: of it and its children.
 */
function run(args, environment = {}, niceness = 0) {
  return new Promise((done) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (niceness > 0) setPriority(child.pid, niceness);
    let output = '';
    const lines = [];
    createInterface({ input: child.stdout }).on('line', (line) =>
      lines.push({ at: performance.now(), line }),
    );
    child.stdout.on('data', (chunk) => {
      output += chunk;
      process.stdout.write(chunk);
    });
    child.on('close', (code) => done({ code: code ?? 1, output, lines }));
  });
}

const exists = (file) => existsSync(join(root, file));

/** Of these CI's time is made. */
const SLOWEST_SHOWN = 15;
/** More failed files than this are no bad luck. */
const MAX_RETRIED_FILES = 6;

/** One lane of tests. */
async function runOnce({ lane, niceness, concurrency = 1 }) {
  const environment = { ...counted, GLEANER_TEST_LANE: lane };
  const begun = performance.now();
  const options = ['--tap', '--concurrency', `${concurrency}`];
  const once = await run([ava, ...options], environment, niceness);
  const seconds = ((performance.now() - begun) / 1000).toFixed(0);
  console.log(`# ${lane}: ${seconds} s; its slowest files, seconds`);
  const slowest = slowestFiles(once.lines, begun, exists, concurrency);
  for (const [file, millis] of slowest.slice(0, SLOWEST_SHOWN))
    console.log(`#   ${(millis / 1000).toFixed(1).padStart(6)}  ${file}`);
  return { environment, once, first: resultsByFile(once.output, exists) };
}

/** The failed files of a run a second time, alone; passed and failed of both runs together. */
async function runAgain({ environment, once, first }) {
  const failedFiles = [...first]
    .filter(([file, { failed }]) => file !== null && failed > 0)
    .map(([file]) => file);
  const second = new Map();
  if (failedFiles.length <= MAX_RETRIED_FILES) {
    for (const file of failedFiles) {
      console.error(`*** ${file} has failed: once more, alone ***`);
      const { code, output } = await run([ava, '--tap', file], environment);
      const { passed, failed } = totals(output);
      second.set(file, { passed, failed: failed === 0 && code !== 0 ? 1 : failed });
    }
  }
  const { passed, failed, flaky } = merged(first, second);
  for (const file of flaky)
    console.error(`*** FLAKY: ${file} failed, and passed when it was run again ***`);
  // It ended badly, and no line says why.
  return {
    passed,
    failed: once.code !== 0 && failedFiles.length === 0 && failed === 0 ? 1 : failed,
  };
}

/** Lanes side by side; what failed runs again when all have ended. */
async function runTests(lanes) {
  const results = [];
  for (const each of await Promise.all(lanes.map(runOnce))) results.push(await runAgain(each));
  return results;
}

/** AVA's TAP summary: `# pass 12` and `# fail 0`. */
function totals(output) {
  const read = (word) => Number(new RegExp(`^# ${word} (\\d+)`, 'm').exec(output)?.[1] ?? 0);
  return { passed: read('pass'), failed: read('fail') };
}

if (!process.argv.includes('--built')) {
  const build = await run([join(root, 'scripts', 'build.mjs')]);
  if (build.code !== 0) {
    console.log('0 passed, 1 failed');
    process.exit(1);
  }
}

// V8 writes what each process executed, those that the tests start included; one report is made of
// all of it.
const ava = bin('ava', 'entrypoints/cli.mjs');
const coverage = join(root, 'coverage');
const executed = join(coverage, 'tmp');
rmSync(coverage, { recursive: true, force: true });
// Faults that nothing caught, of every process that a test starts: each is a failure, whatever the
// tests say.
const faults = join(coverage, 'faults.jsonl');
const probe = `--require "${join(root, 'test', 'faults-probe.cjs')}"`;
mkdirSync(coverage, { recursive: true });
const slowness = process.env.GLEANER_TEST_SLOWNESS ?? `${measuredSlowness()}`;
console.log(`# deadlines x ${slowness}`);
const counted = {
  NODE_V8_COVERAGE: executed,
  GLEANER_TEST_FAULTS: faults,
  GLEANER_TEST_SLOWNESS: slowness,
  NODE_OPTIONS: probe,
};
const runs = await runTests([
  { lane: 'host', niceness: 0 },
  { lane: 'own-parts', niceness: 0 },
  { lane: 'commands', niceness: 0 },
  // Tests on real parts have time limits, which those of the CPU alone must not use up.
  { lane: 'in-process', niceness: 10, concurrency: 2 },
]);
const reporters = ['--reporter=json-summary', '--reporter=text-summary'];
const report = await run([
  bin('c8', 'bin/c8.js'),
  'report',
  '--temp-directory',
  executed,
  ...reporters,
]);

/**
 * A file of types alone is compiled to an empty module that nothing loads: it has no line to
 * execute.
 */
function hasCode(file) {
  const script = readFileSync(join(root, 'dist', file.replace(/\.ts$/, '.js')), 'utf8');
  return script.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '').trim() !== 'export {};';
}

/** Lines executed and lines there are, by top folder, from Istanbul's summary. */
function linesByFolder() {
  const folders = new Map();
  const { total: _, ...files } = JSON.parse(
    readFileSync(join(coverage, 'coverage-summary.json'), 'utf8'),
  );
  for (const [path, { lines }] of Object.entries(files)) {
    const file = relative(root, path);
    // The build writes modules of its own, which have no source.
    if (file.startsWith(`dist${sep}`) || !hasCode(file)) continue;
    const folder = file.split(sep)[0];
    const sum = folders.get(folder) ?? { covered: 0, total: 0 };
    folders.set(folder, { covered: sum.covered + lines.covered, total: sum.total + lines.total });
  }
  return folders;
}

const passed = runs.reduce((sum, each) => sum + each.passed, 0);
let failed = runs.reduce((sum, each) => sum + each.failed, 0);
for (const line of existsSync(faults) ? readFileSync(faults, 'utf8').trim().split('\n') : []) {
  const { kind, command, text } = JSON.parse(line);
  console.error(`*** ${kind} that nothing caught, in ${command}: ${text} ***`);
  failed++;
}
const folders = report.code === 0 ? linesByFolder() : new Map();
for (const folder of productFolders) {
  const { covered, total } = folders.get(folder) ?? { covered: 0, total: 0 };
  const percent = total === 0 ? 0 : (100 * covered) / total;
  console.log(`line coverage of ${folder}: ${percent.toFixed(1)} %`);
  if (percent >= MIN_COVERAGE_PERCENT) continue;
  console.error(`line coverage of ${folder} is below ${MIN_COVERAGE_PERCENT} %`);
  failed++;
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
