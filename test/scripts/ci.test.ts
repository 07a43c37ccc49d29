import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { collected, processesWith, until } from '../support/gleaner.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/** A program of the machine, by a script. */
function fake(folder: string, name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** A folder with CI's script, whose programs of the machine the caller makes. */
function checkout() {
  const root = temporaryFolder('ci');
  const [bin, files] = [join(root, 'bin'), join(root, 'files')];
  for (const folder of ['bin', 'files', '.ci', 'node_modules/.bin'])
    mkdirSync(join(root, folder), { recursive: true });
  copyFileSync('.ci/run', join(root, '.ci/run'));
  const run = () =>
    collected(
      spawn('bash', [join(root, '.ci/run')], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, TMPDIR: files },
      }),
    );
  return { root, bin, files, run };
}

test('CI without a real part ends its checks, shows their log and leaves no file', async (t) => {
  const { root, bin, files, run } = checkout();
  const begun = join(root, 'npm-began');
  fake(bin, 'npm', `echo fake npm; : >${begun}; tail -f ${begun} & wait`);
  const fails = `for _ in $(seq 200); do [ -e ${begun} ] && break; sleep .05; done; exit 1`;
  for (const name of ['docker', 'dockerd', 'apt-get']) fake(bin, name, fails);
  const { ended, output } = run();
  t.not(await ended, 0);
  await until(() => output().endsWith('failed\n'), 5000, 'the last line');
  t.regex(output(), /fake npm\n0 passed, 1 failed\n$/);
  await until(() => processesWith(begun).length === 0, 5000, 'the checks have ended');
  t.deepEqual(readdirSync(files), []);
});

for (const [linted, survived, last] of [
  [0, 0, '3 passed, 0 failed'],
  [0, 1, '3 passed, 1 failed'],
  [1, 0, '3 passed, 1 failed'],
] as const)
  test(`CI whose lint ends with ${linted} and its mutants with ${survived}: ${last}`, async (t) => {
    const { root, bin, files, run } = checkout();
    for (const name of ['docker', 'dockerd', 'apt-get']) fake(bin, name, 'exit 0');
    const tested = join(root, 'tested');
    // Lint and mutants end after the tests, which must not wait for them.
    const wait = `while [ ! -e ${tested} ]; do sleep .05; done`;
    fake(
      bin,
      'npm',
      `case "$*" in
        "test -- --built") : >${tested}; echo "3 passed, 0 failed" ;;
        "run --silent lint") ${wait}; echo linted; exit ${linted} ;;
      esac`,
    );
    const mutants = `${wait}; echo mutants; exit ${survived}`;
    fake(join(root, 'node_modules/.bin'), 'stryker', mutants);
    const { ended, output } = run();
    t.is((await ended) === 0, linted + survived === 0, output());
    await until(() => output().trimEnd().endsWith(last), 5000, 'the last line');
    t.regex(output(), /\nlinted\n/);
    t.is(/\nmutants\n/.test(output()), linted === 0);
    t.deepEqual(readdirSync(files), []);
  });
