import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../config/index.js';

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

/** How long a reading serves other containers, ms: a listing or a restore of a whole host. */
const MOUNTS_KEPT = 1000;

/**
 * The mounts, read once for many containers: engines add a mount or two for each container, so
 * that a reading for each costs the square of their number.
 */
export class MountTable {
  readonly root: string;
  readonly #clock: Clock;
  #mounts: Mounts | null = null;
  #readAt = 0;

  constructor(root: string, clock: Clock = systemClock) {
    this.root = root;
    this.#clock = clock;
  }

  /** `isFresh`: read for this call. */
  current(): { readonly mounts: Mounts; readonly isFresh: boolean } {
    const now = this.#clock.monotonic();
    const kept = now - this.#readAt < MOUNTS_KEPT ? this.#mounts : null;
    return { mounts: kept ?? this.readAgain(), isFresh: kept === null };
  }

  /** For a second look for a container that was not found. */
  readAgain(): Mounts {
    this.#readAt = this.#clock.monotonic();
    this.#mounts = readMounts(this.root);
    return this.#mounts;
  }
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

/** Runtimes put containers less deep (Kubernetes: kubepods.slice, class, pod, container). */
const DEEPEST = 8;

/** Paths of containers with a hole for the identifier: the next one is most likely beside one. */
const places = new Set<string>();
const HOLE = '\0';
const MAX_PLACES = 32;

/** The path of the cgroup whose name has the container's identifier; null if there is none. */
export function searchById(mount: Mount, id: string, root: string): string | null {
  const top = join(root, mount.point);
  const prefix = mount.root === '/' ? '' : mount.root;
  for (const place of places) {
    const path = place.replace(HOLE, id);
    if (existsSync(join(top, path))) return prefix + path;
  }
  const path = walk(top, id);
  if (path === null) return null;
  if (places.size >= MAX_PLACES) places.clear();
  places.add(path.replace(id, HOLE));
  return prefix + path;
}

/** Breadth first: containers lie near the top, and what is below other containers comes last. */
function walk(top: string, id: string): string | null {
  let level = [''];
  for (let depth = 0; depth < DEEPEST && level.length > 0; depth++) {
    const next: string[] = [];
    for (const path of level) {
      for (const name of folders(join(top, path))) {
        if (name.includes(id)) return `${path}/${name}`;
        next.push(`${path}/${name}`);
      }
    }
    level = next;
  }
  return null;
}
