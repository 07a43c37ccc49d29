import { readFileSync } from 'node:fs';

/** CPU time the whole host has been busy since it started, ms (user, nice, system, interrupts; ticks of 10 ms). */
export function hostBusyMillis(): number {
  const [, user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0]!.split(/\s+/);
  return (Number(user) + Number(nice) + Number(system) + Number(irq) + Number(softirq)) * 10;
}
