/**
 * `npm run test:openwhisk`: build, then every case beside a real OpenWhisk; `npm test` runs the
 * part that CI has time for.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const node = (script, args, environment = {}) => {
  const env = { ...process.env, ...environment };
  const { status } = spawnSync(process.execPath, [join(root, script), ...args], {
    cwd: root,
    stdio: 'inherit',
    env,
  });
  if (status !== 0) process.exit(status ?? 1);
};

node('scripts/build.mjs', []);
node(
  'node_modules/ava/entrypoints/cli.mjs',
  ['--timeout=30m', ...process.argv.slice(2), 'dist/test/openwhisk/*.test.js'],
  {
    GLEANER_TEST_REAL: '1',
    GLEANER_TEST_OPENWHISK_ALL: '1',
  },
);
