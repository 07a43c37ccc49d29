import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'ava';
import { collected } from '../support/gleaner.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/** AVA's TAP output, and its exit code, for test files of a project of their own. */
async function avaOn(files: Readonly<Record<string, string>>) {
  const root = temporaryFolder('worker-end');
  mkdirSync(join(root, 'dist/test'), { recursive: true });
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  const config = {
    files: ['dist/test/**/*.test.js'],
    require: [[resolve('dist/test/support/worker-end.js'), 300]],
  };
  writeFileSync(join(root, 'ava.config.js'), `export default ${JSON.stringify(config)};`);
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(root, 'dist/test', name), text);
  const ava = resolve('node_modules/ava/entrypoints/cli.mjs');
  const { ended, output } = collected(
    spawn(process.execPath, [ava, '--tap'], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  return { code: await ended, output: output() };
}

const passes = "import test from 'ava'; test('passes', (t) => t.pass());";

test('a worker that does not end after its tests is ended, and its file has failed', async (t) => {
  const { code, output } = await avaOn({
    'ends.test.js': passes,
    'stays.test.js': `${passes} setInterval(() => undefined, 1000);`,
  });
  t.is(code, 1, output);
  t.regex(output, /\*\*\* \S+stays\.test\.js did not end after its tests; left: .*Timeout/);
  // As scripts/tap.mjs finds the file.
  const failed = output.split('\n').filter((line) => line.startsWith('not ok'));
  t.is(failed.length, 1, output);
  t.regex(failed[0]!, /\sdist\/test\/stays\.test\.js\b/);
});
