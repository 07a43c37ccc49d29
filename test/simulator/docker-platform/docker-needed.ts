import { execFileSync } from 'node:child_process';
import type { ExecutionContext } from 'ava';

/** Real tests need a real dockerd: without one they fail in CI, and elsewhere say loudly that nothing was tested. */
export function dockerMissing(t: ExecutionContext): boolean {
  try {
    execFileSync('docker', ['info', '--format', '{{.ServerVersion}}'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 10_000,
    });
    return false;
  } catch (error) {
    if (process.env.CI) t.fail(`no docker engine: ${String(error)}`);
    else {
      console.error(`NOT TESTED, no docker engine: ${t.title}`);
      t.pass();
    }
    return true;
  }
}
