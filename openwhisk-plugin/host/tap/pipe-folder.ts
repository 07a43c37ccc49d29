import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'gleaner-tap-';
/** Both ends of a pipe meet within milliseconds: who has not by now was killed meanwhile. */
const ABANDONED_MILLIS = 60_000;

/** A new folder with access for this user only. Throws the file system's error. */
export const makePipeFolder = (): string => mkdtempSync(join(tmpdir(), PREFIX));

/**
 * Removes what hooks of this user that were killed (`kill -9`) have left behind. `now`: wall clock,
 * ms. Throws nothing.
 */
export function removeAbandonedPipeFolders(now: number): void {
  try {
    for (const name of readdirSync(tmpdir())) {
      if (name.startsWith(PREFIX) && isAbandoned(join(tmpdir(), name), now))
        rmSync(join(tmpdir(), name), { recursive: true, force: true });
    }
  } catch {
    // What cannot be cleaned up is no reason not to listen.
  }
}

function isAbandoned(folder: string, now: number): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return (
    found?.isDirectory() === true &&
    found.uid === process.getuid?.() &&
    now - found.mtimeMs >= ABANDONED_MILLIS
  );
}
