import { preservationOf } from '../../../agents/index.js';
import {
  type Directions,
  VIRTUAL,
  type VirtualAgent,
  virtualFeatures,
} from '../../../agents/simppo/index.js';
import { SIMPPO_SIZES } from './settings.js';
import type { ClusterTotals, ScalingState, ScalingView } from './state.js';

/** The published six [SIMPPO], which the mean field adds up, then others of the own function. */
const SCALING_FEATURES = [
  'cpu_util',
  'slo_preservation',
  'cpu',
  'cpu_others',
  'containers',
  'arrival_rate',
  'arrival_change',
  'size_cpu',
  'size_memory',
  'memory_util',
  'busy',
  'waiting',
  'late',
  'tail',
  'last_containers',
  'last_cpu',
  'last_memory',
] as const;
const PUBLISHED = 6;
const CPU_OTHERS = SCALING_FEATURES.indexOf('cpu_others');

export const scalingWidth = (virtual: VirtualAgent): number =>
  SCALING_FEATURES.length + VIRTUAL[virtual];

/** Arrivals per second at which the feature is 1; logarithmic, as rates differ by decades. */
const RATE_SCALE = Math.log1p(200);
/** Natural logarithm of tail / SLO at which the feature is 0 or 1. */
const TAIL_RANGE = 2;
/** Requests / capacity at which the feature is 1; logarithmic, as training starts above 3. */
const MOST_OCCUPANCY = Math.log(8);

const clip = (value: number): number => (value > 0 ? Math.min(1, value) : 0);

/** The published six of one function. */
export function publishedFeatures(
  observed: ScalingState,
  { capacity, allocated }: ClusterTotals,
): number[] {
  const { held, cpuUse, rate } = observed;
  const own = held.cpu * held.containers;
  return [
    clip(cpuUse),
    preservationOf(observed.slo, observed.tail),
    clip(own / capacity),
    clip((allocated - own) / capacity),
    clip(held.containers / SIMPPO_SIZES.most.containers),
    clip(Math.log1p(rate) / RATE_SCALE),
  ];
}

/**
 * The networks' input, each number in [0, 1]. Agents without the virtual agent see nothing of
 * others, `cpu_others` of the published six neither. The last step is there as reversals cost.
 */
export function scalingInput(
  { observed, published, others, totals }: ScalingView,
  rateBefore: number,
  last: Directions,
  virtual: VirtualAgent,
  to: Float32Array,
): Float32Array {
  const { held, rate, tail, slo } = observed;
  const { most } = SIMPPO_SIZES;
  to.set(published);
  to[PUBLISHED] = rateBefore > 0 ? clip(rate / rateBefore / 2) : 0.5;
  to[PUBLISHED + 1] = clip(held.cpu / most.cpu);
  to[PUBLISHED + 2] = clip(held.memory / most.memory);
  to[PUBLISHED + 3] = clip(observed.memoryUse);
  to[PUBLISHED + 4] = clip(observed.busy);
  to[PUBLISHED + 5] = clip(observed.waiting / (2 * held.containers));
  to[PUBLISHED + 6] = clip(10 * observed.late);
  to[PUBLISHED + 7] = tail > 0 ? clip((Math.log(tail / slo) / TAIL_RANGE + 1) / 2) : 0;
  last.forEach((direction, i) => {
    to[PUBLISHED + 8 + i] = (direction + 1) / 2;
  });
  if (virtual === 'none') {
    to[CPU_OTHERS] = 0;
    return to;
  }
  const excess = clip(Math.log(totals.allocated / totals.capacity) / MOST_OCCUPANCY);
  to.set(
    virtualFeatures(virtual, { others, price: { cpu: excess, memory: 0 }, features: published }),
    SCALING_FEATURES.length,
  );
  return to;
}
