import type { DdpgSettings } from '../ddpg/index.js';

/**
 * Rates, gamma, tau and sigma of [AWARE]; layers, warm-up and theta of [FIRM artifact]. The replay
 * size and the gradient clip are additions.
 */
export const firmSettings: DdpgSettings = {
  hidden: [40, 40],
  gamma: 0.99,
  actorLearningRate: 3e-4,
  criticLearningRate: 3e-3,
  tau: 3e-3,
  batch: 64,
  replay: 10_000,
  warmUp: 70,
  maxGradNorm: 5,
  noise: { theta: 0.15, sigma: 0.2, step: 1, first: 1, decay: 1e-6 },
};
