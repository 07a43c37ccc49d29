import {
  type Cancel,
  type Clock,
  GleanerError,
  type Millis,
  type Timers,
} from '../config/index.js';
import { decodeLease, encodeMessage } from './messages/index.js';
import type { KeyValue } from './port.js';

export interface LeaseOptions {
  readonly bucket: KeyValue;
  readonly key: string;
  readonly host: string;
  readonly boot: string;
  /** A lease that has not changed for this long, by the contender's own clock, is free. */
  readonly duration: Millis;
  readonly clock: Clock;
  readonly timers: Timers;
  /** `epoch`: null if this host does not hold the lease. */
  readonly changed?: (epoch: number | null) => void;
}

/**
 * One owner of a key at a time. The epoch is the revision at which the lease was taken, so it rises
 * from owner to owner. Clocks of two machines are never compared: a contender waits until the lease
 * has not changed for its duration, and an owner that cannot renew ends after two thirds of it.
 * Without JetStream the host acts alone with epoch 1; if a held lease cannot be renewed (a full
 * store), the owner is unknown, no host acts, and user limits apply.
 */
export class Lease {
  readonly #options: LeaseOptions;
  #epoch: number | null = null;
  #term = 0;
  #revision = 0;
  #renewal = 0;
  #renewedAt = 0;
  #seenRevision = -1;
  #seenAt = 0;
  #pendingTurn: Promise<void> | null = null;
  #stopped = false;
  readonly #cancel: Cancel;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#cancel = options.timers.every((options.duration / 3) as Millis, () => void this.turn());
  }

  get epoch(): number | null {
    this.#expire();
    return this.#epoch;
  }

  /** Rises each time the lease is taken: within one term no other host has held it. */
  get term(): number {
    return this.#term;
  }

  /** Held without JetStream: no other host can be known. */
  get alone(): boolean {
    return this.#epoch !== null && this.#revision === 0;
  }

  /** Takes or renews the lease, if it can; called by its own timer, and at start. */
  turn(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#pendingTurn ??= this.#turn().finally(() => {
      this.#pendingTurn = null;
    });
    return this.#pendingTurn;
  }

  async #turn(): Promise<void> {
    try {
      if (this.#revision > 0) await this.#renew();
      else await this.#tryAcquire();
    } catch (error) {
      const alone = error instanceof GleanerError && error.code === 'GLN_BROKER_NO_JETSTREAM';
      if (alone && this.#epoch === null && !this.#stopped) this.#setEpoch(1);
    } finally {
      if (this.#revision > 0) this.#expire();
    }
  }

  /** Releases the lease, so that the next owner need not wait. */
  async release(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    this.#setEpoch(null);
    // A write in flight changes the revision.
    await this.#pendingTurn;
    const revision = this.#revision;
    this.#revision = 0;
    if (revision === 0) return;
    try {
      // At this revision only: a new owner's lease must stay.
      await this.#options.bucket.deleteAt(this.#options.key, revision);
    } catch {
      // Then it expires.
    }
  }

  async #tryAcquire(): Promise<void> {
    const { bucket, key, clock, duration } = this.#options;
    const entry = await bucket.get(key);
    if (!entry) {
      const startedAt = clock.monotonic();
      const revision = await bucket.create(key, this.#value());
      if (revision !== null) this.#onAcquired(revision, startedAt);
      return;
    }
    const now = clock.monotonic();
    if (entry.revision !== this.#seenRevision) {
      this.#seenRevision = entry.revision;
      this.#seenAt = now;
    }
    const current = entry.value ? decodeLease(entry.value) : null;
    const isOwnEarlierBoot = current?.ok === true && current.message.host === this.#options.host;
    // JetStream is back, and another host holds the lease.
    if (this.alone && !isOwnEarlierBoot) this.#setEpoch(null);
    const term = isOwnEarlierBoot
      ? 0
      : current?.ok
        ? Math.min(current.message.duration, duration * 4)
        : duration;
    if (now - this.#seenAt < term) return;
    const revision = await bucket.update(key, this.#value(), entry.revision);
    if (revision !== null) this.#onAcquired(revision, now);
  }

  async #renew(): Promise<void> {
    const startedAt = this.#options.clock.monotonic();
    this.#renewal++;
    const revision = await this.#options.bucket.update(
      this.#options.key,
      this.#value(),
      this.#revision,
    );
    if (revision === null) {
      await this.#checkOwner();
      return;
    }
    this.#revision = revision;
    this.#renewedAt = startedAt;
    // Renewed late, but before another host took it: held again under the new revision.
    if (this.#epoch === null && !this.#stopped) this.#setEpoch(revision);
  }

  /** An earlier renewal's answer was lost and the lease is still held, or another host has it. */
  async #checkOwner(): Promise<void> {
    const { bucket, key, host, boot } = this.#options;
    const entry = await bucket.get(key);
    const current = entry?.value ? decodeLease(entry.value) : null;
    if (entry && current?.ok && current.message.host === host && current.message.boot === boot) {
      // The time of that renewal is unknown, so the lease is extended by the next one only.
      this.#revision = entry.revision;
      return;
    }
    this.#revision = 0;
    this.#setEpoch(null);
  }

  #onAcquired(revision: number, startedAt: number): void {
    this.#revision = revision;
    // Stopped in the meantime: `release` deletes it.
    if (this.#stopped) return;
    this.#term++;
    this.#renewedAt = startedAt;
    this.#setEpoch(revision);
  }

  #expire(): void {
    if (this.#revision === 0 || this.#epoch === null) return;
    if (this.#options.clock.monotonic() - this.#renewedAt > (this.#options.duration * 2) / 3)
      this.#setEpoch(null);
  }

  #setEpoch(epoch: number | null): void {
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#options.changed?.(epoch);
  }

  #value(): Uint8Array {
    const { host, boot, duration } = this.#options;
    return encodeMessage({ v: 1, host, boot, renewal: this.#renewal, duration });
  }
}
