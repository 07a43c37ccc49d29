import { LEVELS } from '../../rules/index.js';
import { onlineSettings, type PpoSettings, simulatorSettings } from '../ppo/index.js';

export interface FaasrmSettings {
  readonly ppo: PpoSettings;
  /** Most options of an experience: 64, or 8 where memory is not chosen (`guarantee`). */
  readonly options: number;
  /** Experiences of one update. */
  readonly rollout: number;
  /**
   * Price of the host's whole CPU on a full host, in slowdowns: what others may lose by a choice.
   */
  readonly price: number;
}

/**
 * Published [Freyr]: clip .2, 4 epochs, entropy .01, AdamW 1e-3, one batch. Here the learning rate
 * decays, and agents/ppo normalizes, clips and uses mini-batches.
 */
export const faasrmSettings: FaasrmSettings = {
  ppo: {
    ...simulatorSettings,
    learningRate: { first: 1e-3, last: 1e-4 },
    entropy: { first: 0.01, last: 0.002 },
    epochs: 4,
    miniBatch: 256,
    updates: 120,
  },
  options: LEVELS * LEVELS,
  rollout: 2048,
  price: 0.5,
};

/** On a live system: a third of the learning rate, constant (agents/ppo/settings.ts). */
export const faasrmOnlineSettings: FaasrmSettings = {
  ...faasrmSettings,
  ppo: {
    ...faasrmSettings.ppo,
    learningRate: onlineSettings.learningRate,
    entropy: faasrmSettings.ppo.entropy,
  },
};
