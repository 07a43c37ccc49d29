import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A cgroup hierarchy, or a part of one, that this process may see. */
export interface Mount {
  readonly root: string;
  readonly point: string;
  readonly type: 'cgroup' | 'cgroup2';
  readonly controllers: readonly string[];
}

export interface Mounts {
  readonly cgroups: readonly Mount[];
  /**
   * /proc is mounted with hidepid: other processes' files cannot be read
   * (https://docs.kernel.org/filesystems/proc.html, "Mount options").
   */
  readonly processesHidden: boolean;
}

/** From `/proc/self/mountinfo` below `root`; v1's controllers are among the super options. */
export function readMounts(root: string): Mounts {
  const text = readText(join(root, 'proc/self/mountinfo')) ?? '';
  const cgroups: Mount[] = [];
  let processesHidden = false;
  for (const line of text.split('\n')) {
    const separator = line.indexOf(' - ');
    if (separator < 0) continue;
    const [, , , mountRoot, point] = line.slice(0, separator).split(' ');
    const [type, , options] = line.slice(separator + 3).split(' ');
    if (mountRoot === undefined || point === undefined) continue;
    // The last mount hides the earlier ones.
    if (type === 'proc' && point === '/proc')
      processesHidden = /(^|,)hidepid=([1-9]|noaccess|invisible)/.test(options ?? '');
    if (type !== 'cgroup' && type !== 'cgroup2') continue;
    cgroups.push({
      root: unescapeOctal(mountRoot),
      point: unescapeOctal(point),
      type,
      controllers: (options ?? '').split(','),
    });
  }
  return { cgroups, processesHidden };
}

export const holds = (mount: Mount, path: string): boolean =>
  mount.root === '/'
    ? !path.startsWith('/..')
    : path === mount.root || path.startsWith(`${mount.root}/`);

export const below = (root: string, mount: Mount, path: string): string =>
  join(root, mount.point, mount.root === '/' ? path : path.slice(mount.root.length));

export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Names of the groups in a group; none where it is gone, or may not be read. */
export function folders(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Spaces and backslashes of a path are octal in mountinfo. */
const unescapeOctal = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
