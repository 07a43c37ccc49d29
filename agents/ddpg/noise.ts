import { type Random, standardNormal } from '../../config/index.js';
import type { DdpgSettings } from './settings.js';

/** Ornstein and Uhlenbeck's process, one per action: noise that stays on one side for a while. */
export class OrnsteinUhlenbeck {
  readonly values: Float64Array;
  readonly #settings: DdpgSettings['noise'];

  constructor(actions: number, settings: DdpgSettings['noise']) {
    this.values = new Float64Array(actions);
    this.#settings = settings;
  }

  /** x += -theta x dt + sigma sqrt(dt) N(0, 1). */
  advance(random: Random): void {
    const { theta, sigma, step } = this.#settings;
    for (let i = 0; i < this.values.length; i++)
      this.values[i]! +=
        -theta * this.values[i]! * step + sigma * Math.sqrt(step) * standardNormal(random);
  }

  reset(): void {
    this.values.fill(0);
  }
}
