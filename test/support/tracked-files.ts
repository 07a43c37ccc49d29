import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Paths of the repository's files that match, from its root, without deleted ones. */
export function trackedFiles(pattern: RegExp): string[] {
  return execFileSync('git', ['ls-files', '-z'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
    .split('\0')
    .filter((path) => pattern.test(path) && existsSync(path));
}
