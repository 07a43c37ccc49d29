import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { temporaryFolder } from './temporary-folder.js';

/**
 * A real file system of this size in KiB; null if none can be mounted: the test has failed in CI,
 * and passed with a warning elsewhere.
 */
export function smallDisk(t: ExecutionContext, kibibytes: number): string | null {
  const folder = temporaryFolder('disk');
  const { status, stderr } = spawnSync(
    'mount',
    ['-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'tmpfs', folder],
    {
      encoding: 'utf8',
    },
  );
  if (status !== 0) {
    const problem = `needs root and the right to mount: ${stderr}`;
    if (process.env.CI) t.fail(problem);
    else t.log(`NOT RUN: ${problem}`);
    t.pass();
    return null;
  }
  t.teardown(() => execFileSync('umount', ['--lazy', folder]));
  return folder;
}

const FILLER = 'filler';

/** Leaves no byte free. */
export function fill(folder: string): void {
  const path = join(folder, `${FILLER}-${readdirSync(folder).length}`);
  for (const size of [65_536, 4096, 512, 64, 8, 1])
    for (;;) {
      try {
        writeFileSync(path, Buffer.alloc(size), { flag: 'a' });
      } catch {
        break;
      }
    }
}

export function makeRoom(folder: string): void {
  for (const name of readdirSync(folder)) if (name.startsWith(FILLER)) rmSync(join(folder, name));
}
