import { dirname, join } from 'node:path';
import { folders, readText } from './cgroup-mounts.js';
import { ControlFile, UNLIMITED } from './control-file.js';

/** Which files of a cgroup limit the memory of all that is in it. */
const MEMORY_LIMITS = {
  1: ['memory.limit_in_bytes'],
  2: ['memory.max', 'memory.high'],
} as const;

/** By its directory, the user's limit of a managed container, to which it may be restored. */
export type MemoryGuarantees = (directory: string) => number | undefined;

/**
 * The largest memory limit of the container in `directory` with which every group above can keep
 * its promises, bytes; Infinity if no group above has a limit, negative if they promise too much
 * already. When a group is full, the kernel kills in it, and not always in the borrower.
 *
 * A group promises each container in it its limit (or its user's, if that is more), each other
 * group its limit, and one without a limit everything.
 */
export function memoryCeiling(
  directory: string,
  version: 1 | 2,
  guarantees: MemoryGuarantees,
): number {
  let ceiling = UNLIMITED;
  // What is promised to others below the present group, and the most that all below it can use
  // together.
  let others = 0;
  let most = UNLIMITED;
  const above = limitsAbove(directory, version);
  const topLimited = above.findLastIndex(({ limit }) => limit !== UNLIMITED);
  let below = directory;
  for (const { group, limit } of above.slice(0, topLimited + 1)) {
    let siblings = 0;
    for (const name of folders(group)) {
      const path = join(group, name);
      if (path !== below) siblings += guaranteeTo(path, version, guarantees);
    }
    // A loan cannot fill a group that is larger than all that its children can use.
    if (limit !== UNLIMITED && !(siblings + most <= limit))
      ceiling = Math.min(ceiling, limit - siblings - others);
    others += siblings;
    most = Math.min(limit, siblings + most);
    below = group;
  }
  return ceiling;
}

/** From the nearest group up to the hierarchy's root. */
function limitsAbove(directory: string, version: 1 | 2): { group: string; limit: number }[] {
  const groups: { group: string; limit: number }[] = [];
  for (let group = dirname(directory); group !== dirname(group); group = dirname(group)) {
    const limit = limitOf(group, version);
    if (limit === null) break;
    groups.push({ group, limit });
  }
  return groups;
}

/** Null where the group has no memory controller, or is none. */
function limitOf(group: string, version: 1 | 2): number | null {
  let limit: number | null = null;
  for (const name of MEMORY_LIMITS[version]) {
    const file = ControlFile.open(join(group, name), 'r');
    if (file === null) continue;
    const value = file.number();
    file.close();
    if (value >= 0) limit = Math.min(limit ?? UNLIMITED, value);
  }
  return limit;
}

function guaranteeTo(group: string, version: 1 | 2, guarantees: MemoryGuarantees): number {
  const limit = limitOf(group, version);
  const user = guarantees(group);
  if (user !== undefined) return Math.max(user, limit ?? 0);
  // Without a controller of its own it counts for the group over it.
  if (limit !== null && limit !== UNLIMITED) return limit;
  if ((readText(join(group, 'cgroup.procs')) ?? '').trim() !== '') return UNLIMITED;
  let sum = 0;
  for (const name of folders(group)) sum += guaranteeTo(join(group, name), version, guarantees);
  return sum;
}
