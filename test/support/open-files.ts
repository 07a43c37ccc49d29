import { readdirSync, readlinkSync } from 'node:fs';

/** Files that this process has open, in this folder and below. */
export function openFiles(folder: string): string[] {
  const pathOf = (descriptor: string): string => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      // The one that listed them.
      return '';
    }
  };
  return readdirSync('/proc/self/fd')
    .map(pathOf)
    .filter((path) => path.startsWith(`${folder}/`));
}
