import type { Observation } from '../../broker/messages/index.js';
import type { Cancel, Millis, Timers } from '../../config/index.js';

/** An observation that is later than its host's usual delay by more than this is late, ms. */
const LATE_AFTER = 1000;
/**
 * Late observations wait until none has arrived for `QUIET_TIME`, at most `MAX_WAIT`, ms: the next
 * one may be newer.
 */
const QUIET_TIME = 100 as Millis;
const MAX_WAIT = 1000;
/** Drift between the clocks of two hosts: 1000 ppm, more than any quartz has. */
const DRIFT = 0.001;
const WAITING_MAX = 20_000;
const HOSTS_MAX = 10_000;

interface Delay {
  boot: string;
  /** Smallest difference between arrival (this clock) and observation (its host's clock), ms. */
  least: number;
  at: number;
}

export interface ObservationQueueOptions {
  readonly timers: Timers;
  readonly decide: (observation: Observation, now: Millis) => void;
  readonly now: () => Millis;
}

/**
 * Passes observations to their agents. Normally each is decided at once. After a pause of this
 * process (a stopped virtual machine, a long garbage collection, a slow network) only the newest
 * observation of each function and host is decided, and the others are counted. Clocks of two
 * hosts are not compared: an observation is late relative to earlier ones of the same host.
 */
export class ObservationQueue {
  readonly #options: ObservationQueueOptions;
  readonly #delays = new Map<string, Delay>();
  readonly #late = new Map<string, Observation>();
  #cancel: Cancel | null = null;
  #since = 0;
  /** Observations that were skipped for a newer one, or because too many waited. */
  superseded = 0;
  /** How much later than usual the newest observation arrived, ms. */
  lag = 0;

  constructor(options: ObservationQueueOptions) {
    this.#options = options;
  }

  take(observation: Observation, now: Millis): void {
    this.lag = this.#delayOf(observation, now);
    const key = `${observation.host} ${observation.function}`;
    const older = this.#late.delete(key);
    if (older) this.superseded++;
    if (this.lag <= LATE_AFTER) {
      this.#options.decide(observation, now);
      return;
    }
    if (this.#late.size === 0) this.#since = now;
    this.#late.set(key, observation);
    if (this.#late.size > WAITING_MAX) {
      this.#late.delete(this.#late.keys().next().value as string);
      this.superseded++;
    }
    if (now - this.#since >= MAX_WAIT) this.#decideAll();
    else {
      this.#cancel?.();
      this.#cancel = this.#options.timers.after(QUIET_TIME, () => {
        // No newer one followed, so this delay is the usual one from now on (the host was
        // suspended), until an observation arrives earlier.
        const known = this.#delays.get(observation.host);
        if (known !== undefined) known.least += this.lag;
        this.#decideAll();
      });
    }
  }

  stop(): void {
    this.#cancel?.();
    this.#late.clear();
  }

  #decideAll(): void {
    this.#cancel?.();
    this.#cancel = null;
    const waiting = [...this.#late.values()];
    this.#late.clear();
    const { decide, now } = this.#options;
    for (const observation of waiting) decide(observation, now());
  }

  #delayOf({ host, boot, observedAt }: Observation, now: Millis): number {
    const delay = now - observedAt;
    let known = this.#delays.get(host);
    if (known === undefined || known.boot !== boot) {
      if (this.#delays.size >= HOSTS_MAX)
        this.#delays.delete(this.#delays.keys().next().value as string);
      known = { boot, least: delay, at: now };
      this.#delays.set(host, known);
    }
    known.least = Math.min(delay, known.least + DRIFT * (now - known.at));
    known.at = now;
    return delay - known.least;
  }
}
