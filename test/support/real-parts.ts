import { execFileSync, spawnSync } from 'node:child_process';
import type { ExecutionContext } from 'ava';
import { allowed } from './slowness.js';

/**
 * True where a program is missing: the test has failed in CI, and passed with a loud line
 * elsewhere.
 */
export function missing(t: ExecutionContext, programs: Programs): boolean {
  const absent = programs.filter(
    ([program, ...args]) => spawnSync(program, args, { timeout: allowed(20_000) }).status !== 0,
  );
  if (absent.length === 0) return false;
  const names = absent.map(([program]) => program).join(', ');
  if (process.env.CI) t.fail(`needs ${names}`);
  else t.log(`NOT RUN: needs ${names}`);
  t.pass();
  return true;
}

type Programs = readonly [string, ...string[]][];

export const dockerAlone: Programs = [['docker', 'version']];
export const dockerAndTap: Programs = [...dockerAlone, ['tcpdump', '--version']];
export const realParts: Programs = [...dockerAndTap, ['nats-server', '--version']];

/** What a `docker` command prints; throws with its complaint. */
export const docker = (...args: string[]): string =>
  execFileSync('docker', args, { encoding: 'utf8' }).trim();
