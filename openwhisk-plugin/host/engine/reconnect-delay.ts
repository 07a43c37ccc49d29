import { type Millis, millis, type Random } from '../../../config/index.js';

const FIRST = 100;
const LONGEST = 5000;
/** After a connection of this length the next pause is short again. */
const HEALTHY = 10_000;

/** Growing pauses between connections to an engine: 0.1 to 5 s, each half to one and a half. */
export class ReconnectDelay {
  readonly #random: Random;
  #delay = FIRST;

  constructor(random: Random) {
    this.#random = random;
  }

  /** @param connected how long the last connection held, ms; NaN: there was none */
  next(connected: number): Millis {
    if (connected >= HEALTHY) this.#delay = FIRST;
    const pause = millis(this.#delay * (0.5 + this.#random.next()));
    this.#delay = Math.min(LONGEST, this.#delay * 2);
    return pause;
  }
}
