/**
 * What Stryker runs for each mutant, in its copy of the project. The first run has no mutant: every
 * test file runs alone and records which mutants it reaches. Later runs take only the files that
 * reach their mutant, the quickest first, and stop at the first failure.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const AVA = 'node_modules/ava/entrypoints/cli.mjs';
const REACHED = 'mutants-reached';
const RECORDER = 'scripts/mutation-recorder.cjs';
/** Folders whose in-process tests hold the rules that are mutated. */
const FOLDERS = [
  'openwhisk-plugin/decision',
  'openwhisk-plugin/control',
  'openwhisk-plugin/daemon',
  'broker/mean-field',
  'agents/aware',
  'agents/ppo',
];

function testFiles() {
  return FOLDERS.flatMap((folder) => {
    const root = join('dist/test', folder);
    let names = [];
    try {
      names = readdirSync(root, { recursive: true });
    } catch {
      // Not every part has tests of its own.
    }
    return names
      .filter((name) => name.endsWith('.test.js') && !name.endsWith('.real.test.js'))
      .map((name) => join(root, name));
  });
}

function run(files, environment = {}) {
  const { status } = spawnSync(process.execPath, [AVA, '--fail-fast', ...files], {
    env: { ...process.env, ...environment },
    stdio: 'ignore',
  });
  return status ?? 1;
}

/** Runs each file alone; writes mutants and milliseconds of each. */
function record() {
  rmSync(REACHED, { recursive: true, force: true });
  const files = testFiles().map((file, number) => {
    const folder = join(REACHED, String(number));
    mkdirSync(folder, { recursive: true });
    const begun = performance.now();
    const status = run([file], {
      GLEANER_MUTANTS_REACHED: join(process.cwd(), folder),
      NODE_OPTIONS: `--require ${join(process.cwd(), RECORDER)}`,
    });
    if (status !== 0) {
      console.error(`${file} fails without a mutant`);
      process.exit(1);
    }
    const mutants = readdirSync(folder).flatMap((name) =>
      JSON.parse(readFileSync(join(folder, name), 'utf8')),
    );
    return { file, millis: performance.now() - begun, mutants };
  });
  writeFileSync(`${REACHED}.json`, JSON.stringify(files.sort((a, b) => a.millis - b.millis)));
}

const mutant = process.env.__STRYKER_ACTIVE_MUTANT__;
if (mutant === undefined) record();
else {
  const reaching = JSON.parse(readFileSync(`${REACHED}.json`, 'utf8'))
    .filter(({ mutants }) => mutants.includes(mutant))
    .map(({ file }) => file);
  // One file at a time: the quickest mostly kills.
  process.exit(reaching.some((file) => run([file]) !== 0) ? 1 : 0);
}
