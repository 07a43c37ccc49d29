import { execFileSync } from 'node:child_process';
import { messageOf } from '../../config/index.js';

/** Binds this process and its later children to one core. Returns the error, if any. */
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
