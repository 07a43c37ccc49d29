import { spawnSync } from 'node:child_process';
import type { ExecutionContext } from 'ava';

/** True where a program is missing: the test has failed in CI, and passed with a loud line elsewhere. */
export function missing(t: ExecutionContext, programs: readonly [string, ...string[]][]): boolean {
  const absent = programs.filter(([program, ...args]) => spawnSync(program, args, { timeout: 10_000 }).status !== 0);
  if (absent.length === 0) return false;
  const names = absent.map(([program]) => program).join(', ');
  if (process.env.CI) t.fail(`needs ${names}`);
  else t.log(`NOT RUN: needs ${names}`);
  t.pass();
  return true;
}

export const realParts: readonly [string, ...string[]][] = [
  ['docker', 'version'],
  ['tcpdump', '--version'],
  ['nats-server', '--version'],
];
