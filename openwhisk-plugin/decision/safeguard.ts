import { cpuUnitOf, leastAbove, writeRange } from '../../rules/index.js';
import type { Run } from './container-state.js';
import type { FunctionState } from './function-state.js';
import type { Grant, RangeReason } from './grant.js';
import type { DecisionSettings } from './settings.js';

/**
 * The range of an activation's CPU [FaaSRM §4], written into `grant`. `grant.user` is set.
 * Millicores.
 */
export function cpuRange(
  grant: Grant,
  fn: FunctionState,
  settings: DecisionSettings,
  now: number,
): void {
  const peak = fn.cpuPeak.read(now, settings.halfLife);
  if (settings.preset === 'default') {
    const why = userOnly(fn, fn.cpuPeak.count, fn.cpuSpiked);
    if (why) {
      userRange(grant, why);
      return;
    }
    const unit = cpuUnitOf(grant.user, settings);
    range(
      grant,
      peak,
      peak <= settings.thetaUser * grant.user,
      unit,
      settings.cpuFloor,
      settings.cpuCap,
      settings,
    );
    return;
  }
  publishedRange(grant, fn, 'cpu', peak, settings);
}

/** The same for memory under policy `faasrm`, in bytes. */
export function memoryRange(
  grant: Grant,
  fn: FunctionState,
  settings: DecisionSettings,
  now: number,
): void {
  const peak = fn.memoryPeak.read(now, settings.halfLife);
  if (fn.oomHold > 0) {
    userRange(grant, 'after_oom');
    return;
  }
  if (settings.preset === 'default') {
    const why = userOnly(fn, fn.memoryPeak.count, fn.memorySpiked);
    if (why) {
      userRange(grant, why);
      return;
    }
    // Page cache may fill any limit, so only a working set asks for more than the user's.
    const working = fn.workingPeak.read(now, settings.halfLife);
    const over = Math.min(peak, working) <= settings.thetaUser * grant.user;
    range(
      grant,
      peak,
      over,
      settings.memoryUnit,
      settings.memoryFloor,
      settings.memoryCap,
      settings,
    );
    // Nothing may outgrow a lowered limit before it can be raised.
    const growth = fn.growth.read(now, settings.halfLife) * settings.reactionTime;
    if (grant.lower < grant.user && peak + growth > grant.lower) {
      if (peak + growth >= grant.user) {
        userRange(grant, 'grows_too_fast');
        return;
      }
      grant.lower = peak + growth;
    }
    grant.lower = Math.ceil(grant.lower);
    return;
  }
  publishedRange(grant, fn, 'memory', peak, settings);
}

/** The least limit that a peak may be given; the published presets have whole units. */
export const limitAbovePeak = (peak: number, unit: number, settings: DecisionSettings): number =>
  settings.preset === 'default'
    ? leastAbove(peak, unit, settings)
    : (Math.floor(peak / unit) + 1) * unit;

/** Only the user's limit. */
export function userRange(grant: Grant, reason: RangeReason): void {
  grant.lower = grant.user;
  grant.upper = grant.user;
  grant.reason = reason;
}

function userOnly(fn: FunctionState, peaks: number, spiked: boolean): RangeReason | null {
  if (fn.lastFailed) return 'failure';
  if (spiked) return 'spike';
  if (fn.clean === 0) return 'first_activation';
  return peaks === 0 ? 'no_peak' : null;
}

function range(
  grant: Grant,
  peak: number,
  over: boolean,
  unit: number,
  floor: number,
  cap: number,
  settings: DecisionSettings,
): void {
  writeRange(grant, over, leastAbove(peak, unit, settings), grant.user, floor, cap);
  grant.reason = over ? 'over_provisioned' : 'under_provisioned';
}

/**
 * FaaSRM as published: whole units, the newest run decides, spikes are not remembered ([FaaSRM §4]
 * for the text, [Freyr] for the program).
 */
function publishedRange(
  grant: Grant,
  fn: FunctionState,
  resource: 'cpu' | 'memory',
  recent: number,
  settings: DecisionSettings,
): void {
  const cpu = resource === 'cpu';
  const last = cpu ? fn.lastCpuPeak : fn.lastMemoryPeak;
  const allocation = cpu ? fn.lastCpuGrant : fn.lastMemoryGrant;
  const unit = cpu ? settings.cpuUnit : settings.memoryUnit;
  const cap = cpu ? settings.cpuCap : settings.memoryCap;
  const code = settings.preset === 'freyr-code';
  // Only the program looks at failures.
  if (code && fn.lastFailed) {
    userRange(grant, 'failure');
    return;
  }
  if (!(last >= 0)) {
    userRange(grant, 'first_activation');
    return;
  }
  const lower = limitAbovePeak(recent, unit, settings);
  const over = code ? last / grant.user <= settings.thetaUser : last < grant.user;
  if (over) {
    if (last / allocation >= settings.thetaSpike) {
      userRange(grant, 'spike');
      return;
    }
    grant.lower = Math.min(lower, grant.user);
    grant.upper = grant.user;
    grant.reason = 'over_provisioned';
  } else {
    grant.lower = Math.min(lower, cap);
    grant.upper = cap;
    grant.reason = 'under_provisioned';
  }
}

/** CPU use at which the mid-run safeguard trips, millicores; Infinity if it does not watch it. */
export function cpuSpikeLevel(
  { cpu, container, enforced }: Run,
  settings: DecisionSettings,
): number {
  return enforced && settings.midRun && container.mode === 'quota' && cpu.reduced
    ? settings.thetaSpike * cpu.granted
    : Number.POSITIVE_INFINITY;
}

/** Working set at which it trips, bytes; Infinity if it does not watch it. */
export function memorySpikeLevel({ memory, enforced }: Run, settings: DecisionSettings): number {
  return enforced && settings.midRun && memory.reduced
    ? settings.thetaSpike * memory.granted
    : Number.POSITIVE_INFINITY;
}
