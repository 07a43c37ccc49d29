/**
 * `npm run test:kubernetes`: build, then every case on the action pods of a private containerd;
 * `npm test` runs the part that CI has time for. Each test says what is missing.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const node = (script, args, environment = {}) => {
  const env = { ...process.env, ...environment };
  const options = { cwd: root, stdio: 'inherit', env };
  const { status } = spawnSync(process.execPath, [join(root, script), ...args], options);
  if (status !== 0) process.exit(status ?? 1);
};

node('scripts/build.mjs', []);
node(
  'node_modules/ava/entrypoints/cli.mjs',
  ['--timeout=15m', ...process.argv.slice(2), 'dist/test/kubernetes/*.real.test.js'],
  { GLEANER_TEST_REAL: '1', GLEANER_TEST_KUBERNETES_ALL: '1' },
);
