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

test('CI without a real part ends its checks, shows their log and leaves no file', async (t) => {
  const root = temporaryFolder('ci');
  const [bin, files] = [join(root, 'bin'), join(root, 'files')];
  for (const folder of ['bin', 'files', '.ci']) mkdirSync(join(root, folder));
  copyFileSync('.ci/run', join(root, '.ci/run'));
  const begun = join(root, 'npm-began');
  fake(bin, 'npm', `echo fake npm; : >${begun}; tail -f ${begun} & wait`);
  const fails = `for _ in $(seq 200); do [ -e ${begun} ] && break; sleep .05; done; exit 1`;
  for (const name of ['docker', 'dockerd', 'apt-get']) fake(bin, name, fails);
  const child = spawn('bash', [join(root, '.ci/run')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, TMPDIR: files },
  });
  const { ended, output } = collected(child);
  t.not(await ended, 0);
  await until(() => output().endsWith('failed\n'), 5000, 'the last line');
  t.regex(output(), /fake npm\n0 passed, 1 failed\n$/);
  await until(() => processesWith(begun).length === 0, 5000, 'the checks have ended');
  t.deepEqual(readdirSync(files), []);
});
