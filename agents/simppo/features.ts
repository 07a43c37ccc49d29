import type { Observation } from '../../broker/messages/index.js';
import { sloUsed } from '../features.js';
import type { View } from '../resource-manager.js';
import type { Bounds, Held } from './actions.js';
import type { SimppoSettings, VirtualAgent } from './settings.js';

/** The published six (agents/features.ts), which the mean field adds up. */
const PUBLISHED = 6;
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
] as const;
/** Occupancy and price follow each virtual agent's features. */
const GLOBAL = 2;
export const VIRTUAL: Readonly<Record<VirtualAgent, number>> = {
  mf8: 8 + GLOBAL,
  g4: 4 + GLOBAL,
  none: 0,
};

/** Width of the network's input: independent of how many functions there are. */
export const featuresOf = ({ virtual }: Pick<SimppoSettings, 'virtual'>): number =>
  PUBLISHED + OWN_FEATURES.length + VIRTUAL[virtual];

const clip = (value: number): number => (value > 0 ? Math.min(1, value) : 0);
/** -1..1 to 0..1. */
const signed = (value: number): number => clip((value + 1) / 2);

/** What the manager remembers of a function on a host, as far as features need it. */
export interface Remembered {
  readonly held: Held;
  /** Arrivals a second, before and now. */
  readonly rates: readonly [number, number];
  /** ln(mean latency / control arm's mean), cut to +-1; 0: unknown. */
  readonly slowdown: number;
}

function ownFeatures(
  observation: Observation,
  { held, rates, slowdown }: Remembered,
  bounds: Bounds,
): number[] {
  const { user, used, granted, cpuMode, throttledShare } = observation;
  const weight = cpuMode === 'weight';
  const [before, now] = rates;
  const memory = granted.memory.mean > 0 ? granted.memory.mean : user.memory;
  const range = bounds.cpu;
  return [
    before > 0 ? clip(now / before / 2) : 0.5,
    weight ? signed(Math.log2(held.cpu)) : clip(user.cpu > 0 ? held.cpu / user.cpu / 2 : 0),
    weight || range === null ? 0 : clip(1 - range.lower / held.cpu),
    signed(slowdown),
    sloUsed(observation),
    clip(throttledShare),
    memory > 0 ? clip(used.memory / memory) : 0,
    weight ? 1 : 0,
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

/** The network's input, each number in [0, 1]. */
export function inputOf(
  view: View,
  remembered: Remembered,
  bounds: Bounds,
  virtual: VirtualAgent,
): Float32Array {
  return Float32Array.from([
    ...Array.from({ length: PUBLISHED }, (_, i) => clip(view.features[i] ?? 0)),
    ...ownFeatures(view.observation, remembered, bounds),
    ...virtualFeatures(virtual, view),
  ]);
}
