import type { Observation } from '../../broker/messages/index.js';
import type { Cancel, Millis, Timers } from '../../config/index.js';

/**
 * Later than a host's observations usually are by so much, and we are working through what came
 * while we were held up.
 */
const LATE_AFTER = 1000;
/**
 * After the last one that was late, and after the first, until those that waited are decided: as
 * long as more come, newer ones may be among them.
 */
const QUIET_TIME = 100 as Millis;
const MAX_WAIT = 1000;
/** A hook's clock and ours may drift apart by so much (1000 ppm, more than any quartz). */
const DRIFT = 0.001;
const WAITING_MAX = 20_000;
const HOSTS_MAX = 10_000;

interface Delay {
  boot: string;
  /**
   * Least time by our clock from an observation, by its host's, to its arrival: what is the same
   * for all of them.
   */
  least: number;
  at: number;
}

export interface ObservationQueueOptions {
  readonly timers: Timers;
  readonly decide: (observation: Observation, now: Millis) => void;
  readonly now: () => Millis;
}

/**
 * Observations on their way to their agents. While they come as they are made, each is decided at
 * once. After a pause of this process (a stopped virtual machine, a long collection, a slow
 * network) what has piled up is not worked through: of each function on each host the newest is
 * decided, and the others are counted. A hook's and our clock are not compared; how much later than
 * usual an observation is, is told by each host's own earlier ones.
 */
export class ObservationQueue {
  readonly #options: ObservationQueueOptions;
  readonly #delays = new Map<string, Delay>();
  readonly #late = new Map<string, Observation>();
  #cancel: Cancel | null = null;
  #since = 0;
  /**
   * Observations that a newer one of their function and host has made worthless, or that were too
   * many.
   */
  superseded = 0;
  /**
   * How much later than usual the newest observation came, ms: an agent host that is slow, which
   * one that is dead does not tell.
   */
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
        // Nothing came after it: what it is late by is usual from now on (its host was asleep),
        // until one comes that is not.
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
    const late = [...this.#late.values()];
    this.#late.clear();
    for (const observation of late) this.#options.decide(observation, this.#options.now());
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
