import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { folders, type Mount } from './cgroup-mounts.js';

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
