import { dirname, join } from 'node:path';
import { folders, readText } from './cgroup-mounts.js';
import { ControlFile } from './control-file.js';
import { CPU_FILES } from './limit-files.js';

/**
 * What stands beside the managed containers under the same parent group and is not managed: other
 * containers with Docker's cgroupfs driver, system services with systemd's.
 */
export class SiblingWeights {
  /** Weight of the user of each open container, by its directory of the CPU controller. */
  readonly managed = new Map<string, number>();
  readonly #version: 1 | 2;
  #seen: ReadonlySet<string> | null = null;

  constructor(version: 1 | 2) {
    this.#version = version;
  }

  /**
   * The largest factor on their own weights with which no managed container stands above a sibling
   * that is not managed; Infinity: there is none, 0: not known yet. A group counts from the second
   * call that finds it in use: the first may come between a container's start and its event.
   */
  factor(): number {
    const seen = new Set<string>();
    let factor = Number.POSITIVE_INFINITY;
    for (const [parent, own] of this.#largestByParent()) {
      for (const name of folders(parent)) {
        const path = join(parent, name);
        if (this.managed.has(path) || !isInUse(path)) continue;
        seen.add(path);
        const weight = this.#weightOf(path);
        if (weight > 0 && this.#seen?.has(path)) factor = Math.min(factor, weight / own);
      }
    }
    const isFirst = this.#seen === null;
    this.#seen = seen;
    return isFirst ? 0 : factor;
  }

  #largestByParent(): Map<string, number> {
    const largest = new Map<string, number>();
    for (const [directory, own] of this.managed) {
      const parent = dirname(directory);
      largest.set(parent, Math.max(own, largest.get(parent) ?? 0));
    }
    return largest;
  }

  #weightOf(group: string): number {
    const file = ControlFile.open(join(group, CPU_FILES[this.#version].weight), 'r');
    const weight = file?.number() ?? 0;
    file?.close();
    return weight;
  }
}

function isInUse(group: string): boolean {
  if ((readText(join(group, 'cgroup.procs')) ?? '').trim() !== '') return true;
  return folders(group).some((name) => isInUse(join(group, name)));
}
