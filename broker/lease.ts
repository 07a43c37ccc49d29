import { type Cancel, type Clock, GleanerError, type Millis, type Timers } from '../config/index.js';
import { encodeMessage } from './messages/codec.js';
import { decodeLease } from './messages/registration.js';
import type { KeyValue } from './port.js';

export interface LeaseOptions {
  readonly bucket: KeyValue;
  readonly key: string;
  readonly host: string;
  readonly boot: string;
  /** A lease that has not changed for this long, by the watcher's own clock, is free. */
  readonly duration: Millis;
  readonly clock: Clock;
  readonly timers: Timers;
  /** `epoch` null: not ours (any more). */
  readonly changed?: (epoch: number | null) => void;
}

/**
 * One owner of a key at a time. The epoch is the revision at which the lease was taken, so it rises from owner to owner, and
 * whoever obeys the highest epoch seen is right (design §5). No machine's clock is compared with another's: a contender waits
 * until the lease has not changed for its duration; an owner that cannot renew gives up after two thirds of it. A lease of this
 * host's earlier life is free at once: a host's name is unique.
 *
 * Without JetStream there is nobody to ask: the lease counts as ours with epoch 1.
 */
export class Lease {
  readonly #options: LeaseOptions;
  #epoch: number | null = null;
  #revision = 0;
  #renewal = 0;
  #renewedAt = 0;
  #seenRevision = -1;
  #seenAt = 0;
  #busy = false;
  #stopped = false;
  readonly #cancel: Cancel;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#cancel = options.timers.every((options.duration / 3) as Millis, () => void this.turn());
  }

  /** The epoch while the lease is ours, else null. */
  get epoch(): number | null {
    this.#expire();
    return this.#epoch;
  }

  /** Takes or renews the lease, if it can; called by its own timer, and at start. */
  async turn(): Promise<void> {
    if (this.#busy || this.#stopped) return;
    this.#busy = true;
    try {
      if (this.#revision > 0) await this.#renew();
      else await this.#contend();
    } catch (error) {
      const alone = error instanceof GleanerError && error.code === 'GLN_BROKER_NO_JETSTREAM';
      if (alone && this.#epoch === null && !this.#stopped) this.#become(1);
    } finally {
      this.#busy = false;
      if (this.#revision > 0) this.#expire();
    }
  }

  /** Gives the lease back, so that the next owner need not wait. */
  async release(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    const revision = this.#revision;
    this.#revision = 0;
    this.#become(null);
    if (revision === 0) return;
    try {
      const entry = await this.#options.bucket.get(this.#options.key);
      if (entry?.revision === revision) await this.#options.bucket.delete(this.#options.key);
    } catch {
      // Then it runs out by itself.
    }
  }

  async #contend(): Promise<void> {
    const { bucket, key, clock, duration } = this.#options;
    const entry = await bucket.get(key);
    if (!entry) {
      const revision = await bucket.create(key, this.#value());
      if (revision !== null) this.#taken(revision);
      return;
    }
    const now = clock.monotonic();
    if (entry.revision !== this.#seenRevision) {
      this.#seenRevision = entry.revision;
      this.#seenAt = now;
    }
    const held = entry.value ? decodeLease(entry.value) : null;
    const earlierLife = held?.ok === true && held.message.host === this.#options.host;
    const term = earlierLife ? 0 : held?.ok ? Math.min(held.message.duration, duration * 4) : duration;
    if (now - this.#seenAt < term) return;
    const revision = await bucket.update(key, this.#value(), entry.revision);
    if (revision !== null) this.#taken(revision);
  }

  async #renew(): Promise<void> {
    const begun = this.#options.clock.monotonic();
    this.#renewal++;
    const revision = await this.#options.bucket.update(this.#options.key, this.#value(), this.#revision);
    if (revision === null) {
      this.#revision = 0;
      this.#become(null);
      return;
    }
    this.#revision = revision;
    this.#renewedAt = begun;
    // Renewed late, but before anybody else took it: ours again under the new revision.
    if (this.#epoch === null && !this.#stopped) this.#become(revision);
  }

  #taken(revision: number): void {
    if (this.#stopped) return;
    this.#revision = revision;
    this.#renewedAt = this.#options.clock.monotonic();
    this.#become(revision);
  }

  #expire(): void {
    if (this.#revision === 0 || this.#epoch === null) return;
    if (this.#options.clock.monotonic() - this.#renewedAt > (this.#options.duration * 2) / 3) this.#become(null);
  }

  #become(epoch: number | null): void {
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#options.changed?.(epoch);
  }

  #value(): Uint8Array {
    const { host, boot, duration } = this.#options;
    return encodeMessage({ v: 1, host, boot, renewal: this.#renewal, duration });
  }
}
