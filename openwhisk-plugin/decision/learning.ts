import type { Bytes } from '../../config/index.js';
import { memoryAfterOom } from '../../rules/index.js';
import type { Run } from './container-state.js';
import type { Objectives } from './control-arm.js';
import type { FunctionState } from './function-state.js';
import type { RangeReason } from './grant.js';
import type { HostReference } from './host-reference.js';
import type { DecisionSettings } from './settings.js';
import { adjustWeightExponent } from './slowdown-bound.js';

/** Learns from a clean, successful run. `duration` and `cpuTime` in ms, NaN = unknown. */
export function learnSuccess(
  run: Run,
  duration: number,
  cpuTime: number,
  settings: DecisionSettings,
  reference: HostReference,
  objectives: Objectives,
  now: number,
): void {
  const fn = run.fn;
  const halfLife = settings.halfLife;
  fn.clean++;
  fn.lastFailed = false;
  if (settings.preset !== 'default' && isCalibration(run)) {
    // Published: the recent peak is the highest since, and including, the last calibration.
    fn.cpuPeak.forget();
    fn.memoryPeak.forget();
  }
  learnPeaks(run, settings, now);
  learnSpike(run, settings);
  if (fn.oomHold > 0 && run.memory.granted >= run.memory.user) fn.oomHold--;

  if (cpuTime >= 0) {
    fn.cpuTime.add(cpuTime, now, halfLife);
    fn.expectedCpu.add(cpuTime, now, halfLife);
    // What several activations of a container used cannot be told apart.
    if (run.concurrency === 1) fn.cpuByPayload.learn(run.payload, cpuTime);
    if (fn.cpuTime.isPercentileDue) fn.p95CpuTime = fn.cpuTime.percentile(0.95);
    reference.update(fn, now, halfLife);
  }
  if (!(duration > 0)) return;
  fn.duration.add(duration, now, halfLife);
  if (run.control) {
    fn.addControl(duration, now, halfLife, run.cold);
    if (!run.cold) objectives.learn(fn, duration, now, halfLife);
  } else if (run.enforced) {
    fn.managed.add(duration, now, halfLife);
    fn.sinceAlpha.add(duration, now, halfLife);
    adjustWeightExponent(fn, settings);
  }
}

/** A failed run raises limits only: its use is a lower bound of its demand. */
export function learnFailure(run: Run, settings: DecisionSettings, now: number): void {
  const fn = run.fn;
  fn.failed++;
  fn.lastFailed = true;
  fn.cpuPeak.raise(run.cpu.peak, now, settings.halfLife);
  fn.memoryPeak.raise(run.memory.peak, now, settings.halfLife);
  fn.workingPeak.raise(run.workingPeak, now, settings.halfLife);
}

/**
 * An OOM kill is a sample of its own, whether or not another one was taken: usage samples miss the
 * moment of the kill.
 */
export function learnOom(
  fn: FunctionState,
  limitAtKill: Bytes,
  settings: DecisionSettings,
  now: number,
): void {
  fn.lastFailed = true;
  if (limitAtKill < fn.userMemory) {
    fn.oomHarvest++;
    fn.oomHold = settings.oomHoldRuns;
    fn.memorySpiked = true;
    fn.memoryPeak.raise(limitAtKill, now, settings.halfLife);
    return;
  }
  fn.oomUser++;
  fn.hitUserLimit = true;
  // Taken as a maximum: ten kills at one limit ask for no more than one.
  fn.memoryAfterOom = Math.max(fn.memoryAfterOom, Math.ceil(memoryAfterOom(limitAtKill))) as Bytes;
  fn.memoryPeak.raise(limitAtKill, now, settings.halfLife);
  fn.workingPeak.raise(limitAtKill, now, settings.halfLife);
}

function learnPeaks(run: Run, settings: DecisionSettings, now: number): void {
  const fn = run.fn;
  const halfLife = settings.halfLife;
  if (run.cpu.peak >= 0) {
    fn.cpuPeak.add(run.cpu.peak, now, halfLife);
    fn.lastCpuPeak = run.cpu.peak;
    fn.lastCpuGrant = run.cpu.granted;
  }
  if (run.memory.peak < 0) return;
  fn.memoryPeak.add(run.memory.peak, now, halfLife);
  fn.workingPeak.add(run.workingPeak, now, halfLife);
  fn.growth.add(run.growth, now, halfLife);
  fn.lastMemoryPeak = run.memory.peak;
  fn.lastMemoryGrant = run.memory.granted;
  if (
    run.memory.user > 0 &&
    run.workingPeak >= settings.thetaUser * run.memory.user &&
    run.limitHits > 0
  )
    fn.hitUserLimit = true;
}

/** A spike applies until a clean run at user limits has been measured. */
function learnSpike(run: Run, settings: DecisionSettings): void {
  const fn = run.fn;
  if (run.cpu.reduced) {
    if (run.cpu.peak >= settings.thetaSpike * run.cpu.granted) fn.cpuSpiked = true;
  } else if (!run.trippedCpu) fn.cpuSpiked = false;
  if (run.memory.reduced) {
    if (run.memory.peak >= settings.thetaSpike * run.memory.granted) fn.memorySpiked = true;
  } else if (!run.trippedMemory) fn.memorySpiked = false;
}

const CALIBRATIONS: ReadonlySet<RangeReason> = new Set(['first_activation', 'failure', 'spike']);

const isCalibration = ({ cpu, memory }: Run): boolean =>
  CALIBRATIONS.has(cpu.reason) || CALIBRATIONS.has(memory.reason);
