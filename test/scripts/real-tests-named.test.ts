import { spawnSync } from 'node:child_process';
import test from 'ava';

/** AVA on these files, without the variables that choose tests on real parts. */
function ava(...files: string[]) {
  const { GLEANER_TEST_REAL, GLEANER_TEST_LANE, ...env } = process.env;
  const program = 'node_modules/ava/entrypoints/cli.mjs';
  return spawnSync(process.execPath, [program, '--tap', ...files], { env, encoding: 'utf8' });
}

const REAL = 'dist/test/agents/host/agent-host.real.test.js';

test('a test on real parts that a shell names beside others is skipped loudly', (t) => {
  const { status, stdout, stderr } = ava('dist/test/scripts/tap.test.js', REAL);
  t.is(status, 0);
  t.regex(stdout, /^# fail 0$/m);
  t.notRegex(stdout, /over NATS/);
  t.true(stderr.includes(`SKIPPED ${REAL}: run on real parts only with GLEANER_TEST_REAL=1`));
});

test('if only tests on real parts are named, AVA refuses and says why', (t) => {
  const { status, stdout, stderr } = ava(REAL);
  t.not(status, 0);
  t.true(`${stdout}${stderr}`.includes(`${REAL}: run on real parts only with GLEANER_TEST_REAL=1`));
});
