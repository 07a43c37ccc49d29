import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isUnified, ROOT, removeGroup } from '../../bench/kubernetes/pods.js';

/** Folders of a cgroup: on v1 one in each hierarchy. */
const foldersOf = (group: string): string[] =>
  isUnified
    ? [join(ROOT, group)]
    : readdirSync(ROOT)
        .filter((name) => existsSync(join(ROOT, name, 'tasks')))
        .map((name) => join(ROOT, name, group));

/** A group at the top, in which kubelet makes its own. */
export function makeGroup(group: string): void {
  for (const folder of foldersOf(group)) {
    mkdirSync(folder, { recursive: true });
    if (isUnified)
      writeFileSync(join(ROOT, 'cgroup.subtree_control'), '+cpu +cpuset +memory +pids');
    // A group of v1 without cores or memory nodes takes no process.
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      if (!isUnified && existsSync(join(folder, file)))
        writeFileSync(join(folder, file), readFileSync(join(folder, '..', file)));
  }
}

export const groupExists = (group: string): boolean => foldersOf(group).some(existsSync);

export async function removeGroups(group: string): Promise<void> {
  for (const folder of foldersOf(group)) await removeGroup(folder);
}

/** A process's group below each controller's mount. */
export function groupOf(pid: number): string {
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n');
  const line = lines.find((each) => (isUnified ? each.startsWith('0::') : /:cpu[:,]/.test(each)));
  if (line === undefined) throw new Error(`process ${pid} is in no cgroup`);
  return line.slice(line.indexOf(':', line.indexOf(':') + 1) + 1);
}

/** Another program's write, to put a limit back to what it was. */
export function writeWeight(group: string, weight: number): void {
  const file = isUnified ? 'cpu.weight' : 'cpu.shares';
  writeFileSync(join(ROOT, isUnified ? '' : 'cpu', group, file), String(weight));
}

export function oomKills(group: string): number {
  const file = isUnified ? 'memory.events' : 'memory.oom_control';
  const text = readFileSync(join(ROOT, isUnified ? '' : 'memory', group, file), 'utf8');
  return Number(/^oom_kill (\d+)/m.exec(text)?.[1] ?? 0);
}
