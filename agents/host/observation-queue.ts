import type { Observation } from '../../broker/messages/index.js';
import type { Cancel, Millis, Timers } from '../../config/index.js';

/** An observation that is later than its host's usual delay by more than this is late, ms. */
const LATE_AFTER = 1000;
/**
 * Late observations wait until none of their host has arrived for `QUIET_TIME`, at most `MAX_WAIT`,
 * ms: the next one may be newer.
 */
const QUIET_TIME = 100 as Millis;
const MAX_WAIT = 1000;
/** A delay that changed by at most this during `MAX_WAIT` is no backlog that is caught up, ms. */
const EVEN = 100;
/** Drift between the clocks of two hosts: 1000 ppm, more than any quartz has. */
const DRIFT = 0.001;
/** A host's delay is reported for this long after its last observation, ms. */
const REPORTED_TIME = 60_000;
const WAITING_MAX = 20_000;
const KNOWN_HOSTS_MAX = 10_000;

interface HostDelay {
  boot: string;
  /** Smallest difference between arrival (this clock) and observation (its host's clock), ms. */
  least: number;
  /** Arrival of the newest observation, and by how much it was later than usual, ms. */
  at: number;
  lag: number;
  /** The newest late observation of each function, and the arrival and lag of the first, ms. */
  readonly late: Map<string, Observation>;
  since: number;
  firstLag: number;
  cancel: Cancel | null;
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
  readonly #hosts = new Map<string, HostDelay>();
  #waiting = 0;
  /** Observations that were skipped for a newer one, or because too many waited. */
  superseded = 0;

  constructor(options: ObservationQueueOptions) {
    this.#options = options;
  }

  /** How much later than usual a host's newest observation arrived, the largest, ms. */
  get lag(): number {
    const from = this.#options.now() - REPORTED_TIME;
    let largest = 0;
    for (const { at, lag } of this.#hosts.values()) if (at >= from && lag > largest) largest = lag;
    return largest;
  }

  take(observation: Observation, now: Millis): void {
    const { decide, timers } = this.#options;
    const host = this.#arrived(observation, now);
    const { late, lag } = host;
    if (late.delete(observation.function)) this.#skipped();
    if (lag <= LATE_AFTER) {
      decide(observation, now);
      return;
    }
    if (late.size === 0) {
      host.since = now;
      host.firstLag = lag;
    }
    late.set(observation.function, observation);
    if (++this.#waiting > WAITING_MAX) {
      late.delete(late.keys().next().value as string);
      this.#skipped();
    }
    host.cancel?.();
    if (now - host.since >= MAX_WAIT) this.#decideAll(host, Math.abs(lag - host.firstLag) <= EVEN);
    else host.cancel = timers.after(QUIET_TIME, () => this.#decideAll(host, true));
  }

  stop(): void {
    for (const host of this.#hosts.values()) host.cancel?.();
    this.#hosts.clear();
  }

  #skipped(): void {
    this.#waiting--;
    this.superseded++;
  }

  /**
   * `usual`: no newer one followed, or none was less late, so this delay is the usual one from now
   * on (the host was suspended), until an observation arrives earlier.
   */
  #decideAll(host: HostDelay, usual: boolean): void {
    host.cancel?.();
    host.cancel = null;
    if (usual && host.lag > LATE_AFTER) {
      host.least += host.lag;
      host.lag = 0;
    }
    const waiting = [...host.late.values()];
    host.late.clear();
    this.#waiting -= waiting.length;
    const { decide, now } = this.#options;
    for (const observation of waiting) decide(observation, now());
  }

  #arrived({ host: name, boot, observedAt }: Observation, now: Millis): HostDelay {
    const delay = now - observedAt;
    let host = this.#hosts.get(name);
    if (host === undefined) {
      if (this.#hosts.size >= KNOWN_HOSTS_MAX) this.#forgetOldest();
      const late = new Map<string, Observation>();
      host = { boot, least: delay, at: now, lag: 0, late, since: 0, firstLag: 0, cancel: null };
      this.#hosts.set(name, host);
    }
    if (host.boot !== boot) Object.assign(host, { boot, least: delay, at: now });
    host.least = Math.min(delay, host.least + DRIFT * (now - host.at));
    host.at = now;
    host.lag = delay - host.least;
    return host;
  }

  #forgetOldest(): void {
    const [name, host] = this.#hosts.entries().next().value as [string, HostDelay];
    this.#decideAll(host, false);
    this.#hosts.delete(name);
  }
}
