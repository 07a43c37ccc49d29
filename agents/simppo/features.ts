import type { Observation } from '../../broker/messages/index.js';
import { clip, sloUsed } from '../features.js';
import type { View } from '../resource-manager.js';
import type { Bounds, Held } from './actions.js';
import type { SimppoSettings, VirtualAgent } from './settings.js';

/** Of the six local features those that are about the own function: not `cpu_others`. */
const OWN_LOCAL = [0, 1, 2, 4, 5] as const;
/** What else an agent knows of its own function. */
const OWN_FEATURES = [
  'arrival_change',
  'held',
  'headroom_below',
  'slowdown',
  'slo_used',
  'throttled',
  'memory_util',
  'weight_mode',
  'last_containers',
  'last_cpu',
  'last_memory',
] as const;
/** Occupancy and price follow each virtual agent's features. */
const GLOBAL = 2;
export const VIRTUAL: Readonly<Record<VirtualAgent, number>> = {
  mf8: 8 + GLOBAL,
  g4: 4 + GLOBAL,
  none: 0,
};

/** Of the host, for an agent that sees others: demand, run-queue pressure, weights in force. */
const HOST_FEATURES = 3;
/**
 * Version of the order and meaning of the inputs: a policy of another version is refused, even if
 * it has as many inputs.
 */
export const INPUT_LAYOUT = 2;

/** Width of the network's input: independent of how many functions there are. */
export const featuresOf = ({ virtual }: Pick<SimppoSettings, 'virtual'>): number =>
  OWN_LOCAL.length +
  OWN_FEATURES.length +
  (virtual === 'none' ? 0 : VIRTUAL[virtual] + HOST_FEATURES);

/** -1..1 to 0..1. */
const signed = (value: number): number => clip((value + 1) / 2);
/** 0 to `most` as 0..1 on a logarithmic scale. */
const logarithmic = (value: number, most: number): number =>
  clip(Math.log1p(Math.max(0, value)) / Math.log1p(most));

/** Binary logarithm of the change of the arrival rate at which its feature is 0 or 1. */
const RATE_CHANGE_RANGE = 3;
/** Demand / available, waiting threads per core, and weights in force / own at which it is 1. */
const OCCUPANCY_MAX = 15;
const PRESSURE_MAX = 15;
const WEIGHTS_MAX = 1000;

/** What the manager remembers of a function on a host, as far as features need it. */
export interface Remembered {
  readonly held: Held;
  /** Arrivals a second, before and now. */
  readonly rates: readonly [number, number];
  /** ln(mean latency / control arm's mean), cut to +-1; 0: unknown. */
  readonly slowdown: number;
  /** Directions of its last step: containers, CPU, memory. */
  readonly last: readonly [number, number, number];
}

function ownFeatures(
  observation: Observation,
  { held, rates, slowdown, last }: Remembered,
  bounds: Bounds,
): number[] {
  const { user, used, granted, cpuMode, throttledShare } = observation;
  const weight = cpuMode === 'weight';
  const [before, now] = rates;
  const memory = granted.memory.mean > 0 ? granted.memory.mean : user.memory;
  const range = bounds.cpu;
  return [
    before > 0 && now > 0 ? signed(Math.log2(now / before) / RATE_CHANGE_RANGE) : 0.5,
    weight ? signed(Math.log2(held.cpu)) : clip(user.cpu > 0 ? held.cpu / user.cpu / 2 : 0),
    weight || range === null ? 0 : clip(1 - range.lower / held.cpu),
    signed(slowdown),
    sloUsed(observation),
    clip(throttledShare),
    memory > 0 ? clip(used.memory / memory) : 0,
    weight ? 1 : 0,
    ...last.map(signed),
  ];
}

/** The means of all others; zeros while no other agent is known. */
export function virtualFeatures(
  virtual: VirtualAgent,
  { others, price, features }: Pick<View, 'others' | 'price' | 'features'>,
): number[] {
  if (virtual === 'none') return [];
  const global = [clip(((features[2] ?? 0) + (features[3] ?? 0)) / 2), clip(price?.cpu ?? 0)];
  if (others === null || others.members === 0)
    return [...Array<number>(VIRTUAL[virtual] - GLOBAL).fill(0), ...global];
  const mean = (i: number): number => others.mean[i] ?? 0;
  const actions = (i: number): number => signed(others.actionMean[i] ?? 0);
  if (virtual === 'mf8')
    return [...[0, 1, 2, 3, 4, 5].map((i) => clip(mean(i))), actions(0), actions(1), ...global];
  return [clip(features[3] ?? 0), actions(1), clip(mean(1)), clip(mean(0)), ...global];
}

/** The load of the function's host. The sum of the weights is relative to the function's own. */
function hostFeatures({ invoker, observation }: View): number[] {
  const { occupancy, pressure = 0, weights = 0 } = invoker ?? {};
  const own = observation.user.shares;
  return [
    logarithmic(occupancy?.cpu ?? 0, OCCUPANCY_MAX),
    logarithmic(pressure, PRESSURE_MAX),
    own > 0 ? logarithmic(weights / own, WEIGHTS_MAX) : 0,
  ];
}

/** The network's input, each number in [0, 1]. */
export function inputOf(
  view: View,
  remembered: Remembered,
  bounds: Bounds,
  virtual: VirtualAgent,
): Float32Array {
  return Float32Array.from([
    ...OWN_LOCAL.map((i) => clip(view.features[i] ?? 0)),
    ...ownFeatures(view.observation, remembered, bounds),
    ...virtualFeatures(virtual, view),
    ...(virtual === 'none' ? [] : hostFeatures(view)),
  ]);
}
