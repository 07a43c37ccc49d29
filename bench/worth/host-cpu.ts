import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** CPU time the whole host has been busy since it started, ms (user, nice, system, interrupts; ticks of 10 ms). */
export function hostBusyMillis(): number {
  const [, user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0]!.split(/\s+/);
  return (Number(user) + Number(nice) + Number(system) + Number(irq) + Number(softirq)) * 10;
}

const CGROUPS = '/sys/fs/cgroup';

/** CPU time of all of Docker's containers together since their cgroups were made, ms: what functions really asked for. */
export function containersBusyMillis(): number {
  const v1 = join(CGROUPS, 'cpuacct/docker/cpuacct.usage');
  if (existsSync(v1)) return Number(readFileSync(v1, 'latin1')) / 1e6;
  const v2 = join(CGROUPS, 'docker/cpu.stat');
  if (existsSync(v2)) return usageMillis(v2);
  // systemd driver: one scope for each container.
  const slice = join(CGROUPS, 'system.slice');
  return readdirSync(slice)
    .filter((name) => name.startsWith('docker-') && name.endsWith('.scope'))
    .reduce((sum, name) => sum + usageMillis(join(slice, name, 'cpu.stat')), 0);
}

function usageMillis(cpuStat: string): number {
  const usage = /^usage_usec (\d+)$/m.exec(readFileSync(cpuStat, 'latin1'))?.[1];
  return Number(usage ?? Number.NaN) / 1000;
}
