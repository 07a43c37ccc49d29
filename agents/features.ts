import type { Others } from '../broker/mean-field/index.js';
import { LatencyHistogram, type MeanField, type Observation } from '../broker/messages/index.js';

/** Names of the local features, in their order [SIMPPO]. */
export const FEATURES = [
  'cpu_util',
  'slo_preservation',
  'cpu',
  'cpu_others',
  'containers',
  'arrival_rate',
] as const;

/** Scales of the published environment; capacity only until an invoker host reports its own. */
const CAPACITY_UNKNOWN = 20_000;
const CONTAINERS_SCALE = 20;
/** Activations a second at which the feature is 1; logarithmic, as rates differ by decades. */
const RATE_SCALE = Math.log1p(1000);
/** With fewer samples than this the largest stands for the p99. */
const P99_SAMPLES = 20;

/** To 0..1; NaN is 0. */
export const clip = (value: number): number => (value > 0 ? Math.min(1, value) : 0);

const scratch = new LatencyHistogram();

/** min(1, SLO / p99) [SIMPPO]; both in one unit. */
export const preservationOf = (slo: number, p99: number): number => (p99 > slo ? slo / p99 : 1);

/** SLO preservation; 1 without an SLO or activations, 0 if activations wait for a container. */
export function sloPreservation(observation: Observation): number {
  if (observation.containers === 0 && observation.running > 0) return 0;
  if (observation.slo === undefined || observation.activations === 0) return 1;
  return preservationOf(observation.slo, tailOf(observation.latency));
}

/** min(1, p99 / SLO), the used share of the SLO; 0 without an SLO or activations. */
export function sloUsed(observation: Observation): number {
  if (observation.slo === undefined || observation.activations === 0) return 0;
  return Math.min(1, tailOf(observation.latency) / observation.slo);
}

/** p99, ms; the largest if there are few samples. */
export function tailOf(latency: Observation['latency']): number {
  let samples = 0;
  for (const count of latency.counts) samples += count;
  if (samples < P99_SAMPLES) return latency.max;
  scratch.clear();
  scratch.add(latency);
  return scratch.quantile(0.99);
}

/** The six local features of one observation, each in [0, 1]. */
export function localFeatures(
  observation: Observation,
  field: MeanField | null,
  others: Others | null,
): number[] {
  const capacity = field && field.capacity.cpu > 0 ? field.capacity.cpu : CAPACITY_UNKNOWN;
  const limit =
    observation.granted.cpu.mean > 0 ? observation.granted.cpu.mean : observation.user.cpu;
  const activations = observation.activations + observation.control.activations;
  return [
    limit > 0 ? clip(observation.used.cpu / limit) : 0,
    sloPreservation(observation),
    clip((limit * observation.containers) / capacity),
    clip((others?.allocated.cpu ?? 0) / capacity),
    clip(observation.containers / CONTAINERS_SCALE),
    observation.span > 0
      ? clip(Math.log1p((activations * 1000) / observation.span) / RATE_SCALE)
      : 0,
  ];
}
