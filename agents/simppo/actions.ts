import type { Observation } from '../../broker/messages/index.js';
import { cpuUnitOf, leastAbove, type RangeRules, writeRange } from '../../rules/index.js';
import type { Cap } from '../resource-manager.js';
import type { ActionStepSettings, SimppoSettings } from './settings.js';

/** One step in one dimension [SIMPPO]. */
export const SIMPPO_ACTIONS = [
  'stay',
  'cpu up',
  'cpu down',
  'memory up',
  'memory down',
  'out',
  'in',
] as const;
const CPU = [0, 1, -1, 0, 0, 0, 0];
const MEMORY = [0, 0, 0, 1, -1, 0, 0];
const CONTAINERS = [0, 0, 0, 0, 0, 1, -1];

/** Steps of an action as the mean field adds them up: containers, cpu, memory. */
export const directionsOf = (action: number): [number, number, number] => [
  CONTAINERS[action]!,
  CPU[action]!,
  MEMORY[action]!,
];

/** What a function holds on one host. */
export interface Held {
  /** Millicores; weight mode: the factor. */
  readonly cpu: number;
  /** Bytes. */
  readonly memory: number;
  readonly containers: number;
}

interface Range {
  readonly lower: number;
  readonly upper: number;
}

/**
 * An estimate of the safeguard's range of one resource from the peaks in observations. The hook
 * also knows the newest runs, the working set and how fast memory grows, and clips what is beyond
 * its own range. Null: user limits only.
 */
function rangeOf(
  peak: number,
  user: number,
  { unit, floor, cap }: { readonly unit: number; readonly floor: number; readonly cap: number },
  rules: RangeRules,
): Range | null {
  if (!(peak > 0) || !(user > 0)) return null;
  const range = { lower: user, upper: user };
  const isOver = peak <= rules.thetaUser * user;
  writeRange(range, isOver, leastAbove(peak, unit, rules), user, floor, cap);
  return range;
}

/** Bounds of the next target. Null: user limits only. */
export interface Bounds {
  readonly cpu: Range | null;
  readonly memory: Range | null;
}

export function boundsOf(
  { user, cpuMode }: Observation,
  peaks: { readonly cpu: number; readonly memory: number },
  cap: Cap,
  { actions: { maxWeightFactor, dimensions }, hook }: Pick<SimppoSettings, 'actions' | 'hook'>,
): Bounds {
  const ofCpu = { unit: cpuUnitOf(user.cpu, hook), floor: hook.cpuFloor, cap: cap.cpu };
  const ofMemory = { unit: hook.memoryUnit, floor: hook.memoryFloor, cap: cap.memory };
  const cpu =
    cpuMode === 'weight'
      ? { lower: 1 / maxWeightFactor, upper: maxWeightFactor }
      : rangeOf(peaks.cpu, user.cpu, ofCpu, hook);
  return {
    cpu: dimensions.cpu ? cpu : null,
    memory: dimensions.memory ? rangeOf(peaks.memory, user.memory, ofMemory, hook) : null,
  };
}

/** Steps below this share of a step change nothing. */
const MIN_STEP = 0.1;

/** 1 where an action would change something. Doing nothing is always possible. */
export function maskOf(
  held: Held,
  bounds: Bounds,
  { cpuMode }: Pick<Observation, 'cpuMode'>,
  settings: ActionStepSettings,
  to: Uint8Array,
): Uint8Array {
  const { cpuStep, memoryStep, weightStep, dimensions, maxContainers } = settings;
  const { cpu, memory } = bounds;
  to.fill(0);
  to[0] = 1;
  if (cpu !== null) {
    const weight = cpuMode === 'weight';
    const position = weight ? Math.log(held.cpu) : held.cpu;
    const least = MIN_STEP * (weight ? Math.log(weightStep) : cpuStep);
    to[1] = Number((weight ? Math.log(cpu.upper) : cpu.upper) - position > least);
    to[2] = Number(position - (weight ? Math.log(cpu.lower) : cpu.lower) > least);
  }
  if (memory !== null) {
    to[3] = Number(memory.upper - held.memory > MIN_STEP * memoryStep);
    to[4] = Number(held.memory - memory.lower > MIN_STEP * memoryStep);
  }
  if (dimensions.containers) {
    to[5] = Number(held.containers < maxContainers);
    to[6] = Number(held.containers > 1);
  }
  return to;
}

const within = (value: number, range: Range | null): number =>
  range === null ? value : Math.min(range.upper, Math.max(range.lower, value));

/** What is held after an action, within the bounds. */
export function apply(
  action: number,
  held: Held,
  bounds: Bounds,
  { cpuMode }: Pick<Observation, 'cpuMode'>,
  { cpuStep, memoryStep, weightStep, maxContainers }: ActionStepSettings,
): Held {
  const cpu =
    cpuMode === 'weight'
      ? held.cpu * weightStep ** CPU[action]!
      : held.cpu + CPU[action]! * cpuStep;
  return {
    cpu: within(cpu, bounds.cpu),
    memory: within(held.memory + MEMORY[action]! * memoryStep, bounds.memory),
    containers: Math.min(maxContainers, Math.max(1, held.containers + CONTAINERS[action]!)),
  };
}

/** Asks for the least that the hook's safeguard allows, in millicores: the hook clips it. */
const MIN_CPU = 1;

/**
 * Near the bottom of the range the agent asks for the least that the safeguard allows: only the
 * hook knows the current range.
 */
export function cpuTarget(
  { cpu: held }: Held,
  { cpu: range }: Bounds,
  { cpuStep }: ActionStepSettings,
): number {
  if (range === null) return held;
  return held < range.lower + Math.min(cpuStep, (range.upper - range.lower) / 2) ? MIN_CPU : held;
}

/** What was in force after a target: hooks clip it, and report the grant in the observation. */
export function granted(target: Held, observation: Observation): Held {
  const { mode, cpuMode, granted: of } = observation;
  if (mode !== 'enforce') return target;
  const clip = (value: number, { min, max }: { min: number; max: number }): number =>
    max > 0 ? Math.min(max, Math.max(min, value)) : value;
  return {
    cpu: cpuMode === 'weight' ? target.cpu : clip(target.cpu, of.cpu),
    memory: clip(target.memory, of.memory),
    containers: target.containers,
  };
}

/** The executed action: the chosen one, or none if the safeguard clipped or undid its change. */
export function executed(
  chosen: number,
  before: Held,
  after: Held,
  { cpuMode }: Observation,
  { cpuStep, memoryStep }: ActionStepSettings,
): number {
  if (CPU[chosen] !== 0 && cpuMode === 'quota')
    return (after.cpu - before.cpu) * CPU[chosen]! > MIN_STEP * cpuStep ? chosen : 0;
  if (MEMORY[chosen] !== 0)
    return (after.memory - before.memory) * MEMORY[chosen]! > MIN_STEP * memoryStep ? chosen : 0;
  return chosen;
}
