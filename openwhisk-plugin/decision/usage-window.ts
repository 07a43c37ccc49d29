import type { Run } from './container-state.js';
import type { UsageSample } from './usage-sample.js';

/**
 * Begins the window over which busy cores are measured. `cpu` = the container's counter, us; -1 =
 * unknown.
 */
export function openWindow(run: Run, cpu: number, at: number): void {
  run.windowCpu = cpu;
  run.windowAt = at as typeof run.windowAt;
}

/**
 * Busy millicores since the window began, and begins the next; -1 where the window is too short to
 * count (it goes on) or has no beginning. CPU used above the user's limit is accelerated: there the
 * user's limit would have bound.
 */
export function closeWindow(run: Run, cpu: number, at: number, minimum: number): number {
  if (!(cpu >= 0)) return -1;
  if (run.windowCpu < 0) {
    openWindow(run, cpu, at);
    return -1;
  }
  const span = at - run.windowAt;
  // A window without a length has no rate, whatever the minimum.
  if (!(span > 0 && span >= minimum)) return -1;
  // us per ms are thousandths of a core.
  const busy = Math.max(0, cpu - run.windowCpu) / span;
  openWindow(run, cpu, at);
  if (busy > run.cpu.peak) run.cpu.peak = busy;
  const { cpu: grant, container } = run;
  // At the user's limit a window can show more too: it need not begin with a period of the quota.
  const raised = run.enforced && container.mode === 'quota' && grant.granted > grant.user;
  if (raised && container.runs[0] === run && busy > grant.user)
    run.accelerated += ((busy - run.cpu.user) * span) / 1000;
  return busy;
}

/** Memory peaks and growth of a run from a reading, against the container's previous one. */
export function watchMemory(run: Run, usage: UsageSample, previous: UsageSample): void {
  if (usage.workingSet > run.workingPeak) run.workingPeak = usage.workingSet;
  const peak = Math.max(usage.workingSet, usage.peak);
  if (peak > run.memory.peak) run.memory.peak = peak;
  const span = usage.at - previous.at;
  if (previous.at >= run.startedAt && span > 0) {
    const growth = (usage.workingSet - previous.workingSet) / span;
    if (growth > run.growth) run.growth = growth;
  }
}
