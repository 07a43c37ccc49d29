import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { gleaner, startUp, until } from '../support/gleaner.js';
import { missing } from '../support/real-parts.js';
import { allowed } from '../support/slowness.js';

/** The newest Node with long-term support: nodejs.org/en/about/previous-releases. */
const NEWEST = 26;

const run = promisify(execFile);

/**
 * Path of that Node; a registry of npm packages has it, and the home folder keeps it. Null where
 * there is no registry; in CI that is a failure.
 */
async function newestNode(t: ExecutionContext): Promise<string | null> {
  const folder = join(homedir(), '.cache', 'gleaner-node', String(NEWEST));
  const node = join(folder, 'node_modules', 'newest-node', 'bin', 'node');
  if (!existsSync(node)) {
    const spec = `newest-node@npm:node-linux-${process.arch}@${NEWEST}`;
    const args = ['install', '--no-audit', '--no-fund', '--prefix', folder, spec];
    try {
      await run('npm', args, { timeout: allowed(180_000) });
    } catch (error) {
      if (process.env.CI) throw error;
      t.log(`NOT RUN: needs Node ${NEWEST}: ${(error as Error).message}`);
      return null;
    }
  }
  return node;
}

test(`gleaner up manages functions on Node ${NEWEST}`, async (t) => {
  if (missing(t, [['nats-server', '--version']])) return;
  const node = await newestNode(t);
  if (node === null) return t.pass();
  const { stdout: version } = await run(node, ['--version']);
  t.true(version.startsWith(`v${NEWEST}.`), version);
  const up = startUp(
    {
      mode: 'enforce',
      platform: 'simulated',
      agents: { manager: 'simppo' },
      simulator: { speed: 20 },
    },
    [],
    node,
  );
  t.teardown(up.clean);
  const harvests = async (): Promise<boolean> => {
    const { code, out } = await gleaner(['--config', up.config, 'functions', '-o', 'json']);
    const rows = code === 0 ? (JSON.parse(out) as { harvestedCpuSeconds: number }[]) : [];
    return rows.some((row) => row.harvestedCpuSeconds > 0);
  };
  await until(harvests, 60_000, 'a function harvested').catch((error: Error) => {
    throw new Error(`${error.message}\n${up.output()}`);
  });
  // A part that a flag or a module keeps from starting is started again and again.
  t.notRegex(up.output(), /is restarted|unrecognized flag/);
  up.child.kill('SIGTERM');
  t.is(await up.ended, 0);
});
