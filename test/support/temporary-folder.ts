import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made = new Set<string>();
process.once('exit', () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

/**
 * A folder of a test's own, gone when the test's process ends: no test has to think of it, nor is
 * one removed under what still stops.
 */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `gleaner-${name}-`));
  made.add(folder);
  return folder;
}

/** Earlier, where a process makes thousands. */
export function removeTemporaryFolder(folder: string): void {
  made.delete(folder);
  rmSync(folder, { recursive: true, force: true });
}
