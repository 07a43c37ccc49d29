import { SIMPPO_ACTIONS } from '../../agents/simppo/index.js';
import { type AwareAllocation, afterAction } from './allocation.js';
import type { SystemSnapshot } from './system.js';

/** How fast the forecast's sums forget. */
const FORGET = 0.98;

/** ARIMA(1, 1, 0) [AWARE]: d(t+1) = phi d(t) on differences, phi by recursive least squares. */
export class LoadForecast {
  #last = Number.NaN;
  #difference = 0;
  #products = 0;
  #squares = 1e-9;

  /** What is expected next, after `rate` was seen. */
  next(rate: number): number {
    if (Number.isNaN(this.#last)) {
      this.#last = rate;
      return rate;
    }
    const difference = rate - this.#last;
    this.#products = FORGET * this.#products + difference * this.#difference;
    this.#squares = FORGET * this.#squares + this.#difference ** 2;
    this.#last = rate;
    this.#difference = difference;
    const phi = Math.min(1, Math.max(-1, this.#products / this.#squares));
    return Math.max(0, rate + phi * difference);
  }
}

const UNKNOWN = 0.5;
const LEARNING = 0.3;
/** Neighbors that are looked up: staying, and each step in CPU and containers. */
const NEIGHBOURS = [0, 1, 2, 5, 6];

/** The last known SLO preservation of each allocation of CPU and containers [AWARE]. */
export class AllocationTable {
  readonly #cells = new Map<string, number>();

  see({ allocation, preservation }: SystemSnapshot): void {
    const key = keyOf(allocation);
    const known = this.#cells.get(key);
    this.#cells.set(
      key,
      known === undefined ? preservation : known + LEARNING * (preservation - known),
    );
  }

  of(allocation: AwareAllocation): number {
    return this.#cells.get(keyOf(allocation)) ?? UNKNOWN;
  }
}

const keyOf = ({ cpu, containers }: AwareAllocation): string =>
  `${Math.round(cpu / 0.128)} ${containers}`;

/** How many features TL+ adds. */
export const TRANSFER_FEATURES = 1 + NEIGHBOURS.length;

/**
 * TL+'s two groups of features: the forecast as a ratio, and the table around the present
 * allocation.
 */
export class TransferFeatures {
  readonly #forecast = new LoadForecast();
  readonly #table = new AllocationTable();

  write(snapshot: SystemSnapshot, to: Float32Array, at: number): void {
    this.#table.see(snapshot);
    const ahead = this.#forecast.next(snapshot.rate);
    to[at] = Math.min(1, ahead / Math.max(snapshot.rate, 1e-9) / 2);
    NEIGHBOURS.forEach((action, i) => {
      to[at + 1 + i] = this.#table.of(
        action < SIMPPO_ACTIONS.length
          ? afterAction(snapshot.allocation, action)
          : snapshot.allocation,
      );
    });
  }
}
