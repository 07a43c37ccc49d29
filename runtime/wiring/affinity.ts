import { execFileSync } from 'node:child_process';
import { messageOf } from '../../config/index.js';

/**
 * Binds this process, and the children it starts later, to one core (taskset of util-linux, which
 * every distribution has).
 * @returns what went wrong, or null: a hook that may run anywhere is no reason not to start
 */
export function bindToCore(core: number): string | null {
  try {
    execFileSync('taskset', ['-a', '-c', '-p', String(core), String(process.pid)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return null;
  } catch (error) {
    return messageOf(error);
  }
}
