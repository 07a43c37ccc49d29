import type { View } from '../../../agents/index.js';
import { type SimppoSettings, simppoSettings } from '../../../agents/simppo/index.js';
import type { Others } from '../../../broker/mean-field/index.js';
import { LatencyHistogram, type Observation } from '../../../broker/messages/index.js';
import { type Bytes, type Millicores, mebibytes, SeededRandom } from '../../../config/index.js';
import { observation } from '../../support/observations.js';

export const cap = { cpu: 4000 as Millicores, memory: mebibytes(1024) };

/** All functions share a small network that learns from the first step. */
export const online: SimppoSettings = {
  ...simppoSettings,
  begin: 'online',
  ownRate: Number.POSITIVE_INFINITY,
  batch: 64,
  ppo: { ...simppoSettings.ppo, hidden: [16] },
};

export const view = (changes: Partial<Observation> = {}, around: Partial<View> = {}): View => ({
  observation: observation(changes),
  features: [0.4, 1, 0.1, 0.3, 0.1, 0.2],
  others: null,
  price: null,
  random: new SeededRandom(1),
  ...around,
});

export const others = (changes: Partial<Others> = {}): Others => ({
  members: 3,
  mean: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
  variance: [0.01, 0.02, 0.03, 0, 0, 0],
  actionMean: [0.5, -0.5, 0],
  allocated: { cpu: 3000 as Millicores, memory: 0 as Bytes, containers: 3 },
  demand: { cpu: 3000 as Millicores, memory: 0 as Bytes },
  ...changes,
});

export function activations(
  count: number,
  each: number,
): Pick<Observation, 'activations' | 'latency'> {
  const latency = new LatencyHistogram();
  for (let i = 0; i < count; i++) latency.record(each);
  return { activations: count, latency: latency.toMessage() };
}
