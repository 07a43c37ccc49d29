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

for (const [survived, last] of [
  [0, '3 passed, 0 failed'],
  [1, '3 passed, 1 failed'],
] as const)
  test(`CI whose tests pass and whose mutants end with ${survived} says: ${last}`, async (t) => {
    const { root, bin, files, run } = checkout();
    for (const name of ['docker', 'dockerd', 'apt-get']) fake(bin, name, 'exit 0');
    const tested = join(root, 'tested');
    const passes = `[ "$*" != "test -- --built" ] || { : >${tested}; echo "3 passed, 0 failed"; }`;
    fake(bin, 'npm', passes);
    // It ends after the tests, which must not wait for it.
    const ends = `while [ ! -e ${tested} ]; do sleep .05; done; echo mutants; exit ${survived}`;
    fake(join(root, 'node_modules/.bin'), 'stryker', ends);
    const { ended, output } = run();
    t.is((await ended) === 0, survived === 0, output());
    await until(() => output().trimEnd().endsWith(last), 5000, 'the last line');
    t.regex(output(), /\nmutants\n/);
    t.deepEqual(readdirSync(files), []);
  });
