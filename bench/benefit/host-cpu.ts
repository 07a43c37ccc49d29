import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * CPU time the whole host has been busy since it started, ms (user, nice, system, interrupts; ticks
 * of 10 ms).
 */
export function hostBusyMillis(): number {
  const [, user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'latin1')
    .split('\n', 1)[0]!
    .split(/\s+/);
  return (Number(user) + Number(nice) + Number(system) + Number(irq) + Number(softirq)) * 10;
}

const CGROUPS = '/sys/fs/cgroup';

/**
 * CPU time of all of Docker's containers together since their cgroups were made, ms: what functions
 * really asked for.
 */
export function containersBusyMillis(): number {
  if (hasGroup('docker')) return groupBusyMillis('docker');
  // systemd driver: one scope for each container.
  const slice = join(CGROUPS, 'system.slice');
  return readdirSync(slice)
    .filter((name) => name.startsWith('docker-') && name.endsWith('.scope'))
    .reduce((sum, name) => sum + groupBusyMillis(join('system.slice', name)), 0);
}

/** CPU time of one of Docker's containers, by its full id, ms. */
export const containerBusyMillis = (id: string): number =>
  groupBusyMillis(hasGroup(`docker/${id}`) ? `docker/${id}` : `system.slice/docker-${id}.scope`);

const v1Usage = (group: string): string => join(CGROUPS, 'cpuacct', group, 'cpuacct.usage');

const hasGroup = (group: string): boolean =>
  existsSync(v1Usage(group)) || existsSync(join(CGROUPS, group, 'cpu.stat'));

/** CPU time of a cgroup since it was made, ms. */
export function groupBusyMillis(group: string): number {
  const v1 = v1Usage(group);
  if (existsSync(v1)) return Number(readFileSync(v1, 'latin1')) / 1e6;
  return usageMillis(join(CGROUPS, group, 'cpu.stat'));
}

function usageMillis(cpuStat: string): number {
  const usage = /^usage_usec (\d+)$/m.exec(readFileSync(cpuStat, 'latin1'))?.[1];
  return Number(usage ?? Number.NaN) / 1000;
}

/**
 * CPU time of this process and of all that it started (a whole Gleaner, its tcpdump and NATS
 * server), ms; ticks of 10 ms.
 */
export function ownBusyMillis(): number {
  const parents = new Map<number, number>();
  const ticks = new Map<number, number>();
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!(pid > 0)) continue;
    const fields = statOf(pid);
    if (fields === null) continue;
    parents.set(pid, Number(fields[1]));
    // utime, stime, and the same of children that ended: proc(5), fields 14 to 17; the first here
    // is field 3.
    ticks.set(
      pid,
      Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14]),
    );
  }
  const isOwn = (pid: number | undefined): boolean =>
    pid === process.pid || (pid !== undefined && pid > 1 && isOwn(parents.get(pid)));
  let sum = 0;
  for (const [pid, used] of ticks) if (isOwn(pid)) sum += used;
  return sum * 10;
}

/** What follows the name in `/proc/PID/stat`; null: it has ended meanwhile. */
function statOf(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
