import {
  type Broker,
  buckets,
  type KeyValue,
  type KeyValueWatch,
  Lease,
} from '../../../broker/index.js';
import { encodeMessage } from '../../../broker/messages/index.js';
import type { Cancel, Clock, Millis, Random, Timers } from '../../../config/index.js';
import { holderOf, Members, memberKey, shardKey } from './members.js';
import { movesOf, SHARDS, shardOf } from './plan.js';

export interface ShardsOptions {
  readonly broker: Broker;
  readonly host: string;
  readonly boot: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** A host whose lease has not changed for this long has left. */
  readonly duration: Millis;
  /** This host owns the shard now, and serves it when this has resolved. Never rejects. */
  readonly onAcquired?: (shard: number, epoch: number) => Promise<void>;
  /**
   * The shard is no longer served, and released when this has resolved. `isOurs` is false while
   * another host might take it. Never rejects.
   */
  readonly onRelease?: (shard: number, isOurs: () => boolean) => Promise<void>;
  /** Called once per turn. */
  readonly onTurn?: () => void;
}

interface HeldShard {
  /** Revision of the shard's key: rises from owner to owner. */
  readonly epoch: number;
  /** Term of the membership under which it was taken. */
  readonly term: number;
  served: boolean;
}

/** Interval of turns as a share of the duration, ± a fifth: hosts started together must drift. */
const TURN = 1 / 3;
/** Longest delay of a turn after another host's change, ms; random, against collisions. */
const RETRY_DELAY = 200;

/**
 * The shards of one agent host. One lease per host is its membership; a shard's key names its owner
 * and is written only when the owner changes, so writes grow with hosts and not with functions.
 *
 * Two owners never act at once: a shard is taken from another host only after that host's
 * membership was deleted at exactly the revision that had not changed for its duration. By its own
 * clock the host gave up earlier, and a target that it may still send has a lower epoch than its
 * successor's, which hooks refuse.
 */
export class Shards {
  readonly #options: ShardsOptions;
  readonly #bucket: KeyValue;
  readonly #member: Lease;
  readonly #members: Members;
  readonly #watch: KeyValueWatch;
  readonly #held = new Map<number, HeldShard>();
  /** Epochs of released shards: the watch may still show them as owned. */
  readonly #released = new Map<number, number>();
  #cancelTurn: Cancel = () => {};
  #read = false;
  #turning: Promise<void> | null = null;
  #again = false;
  #stopped = false;

  constructor(options: ShardsOptions) {
    const { broker, host, boot, clock, timers, duration } = options;
    this.#options = options;
    this.#bucket = broker.keyValue(buckets.leases);
    this.#members = new Members(duration, clock.monotonic());
    this.#member = new Lease({
      bucket: this.#bucket,
      key: memberKey(host),
      host,
      boot,
      duration,
      clock,
      timers,
    });
    this.#watch = this.#bucket.watch((entry) => {
      if (!this.#members.take(entry, clock.monotonic())) return;
      this.#forget();
      this.#schedule(RETRY_DELAY * options.random.next());
    });
    // Until the whole bucket has been read, a shard or a member that is missing means nothing.
    this.#watch.ready.then(
      () => {
        this.#read = true;
        void this.turn();
      },
      () => undefined,
    );
    this.#schedule(0);
  }

  /** Number of shards that are served. */
  get owned(): number {
    const { epoch, alone } = this.#member;
    if (epoch === null) return 0;
    if (alone) return SHARDS;
    let owned = 0;
    for (const heldShard of this.#held.values())
      if (heldShard.served && heldShard.term === this.#member.term) owned++;
    return owned;
  }

  /** Epoch of the function's shard if this host serves it, otherwise null. */
  epochOf(fn: string): number | null {
    return this.epochOfShard(shardOf(fn));
  }

  /** Whether another host has taken the function's shard; false while this one's lease lapses. */
  isElsewhere(fn: string): boolean {
    const known = this.#members.leaseOfShard(shardOf(fn));
    return known !== null && known.host !== this.#options.host;
  }

  epochOfShard(shard: number): number | null {
    const member = this.#member.epoch;
    if (member === null) return null;
    // Without JetStream no host can be known to share with.
    if (this.#member.alone) return 1;
    const heldShard = this.#held.get(shard);
    return heldShard?.served && heldShard.term === this.#member.term ? heldShard.epoch : null;
  }

  /** Renews the membership and moves shards; called by a timer, and at connect. */
  turn(): Promise<void> {
    if (this.#turning) {
      this.#again = true;
      return this.#turning;
    }
    this.#turning = this.#turn().finally(() => {
      this.#turning = null;
      const { duration, random } = this.#options;
      this.#schedule(this.#again ? 0 : duration * TURN * (0.8 + 0.4 * random.next()));
      this.#again = false;
    });
    return this.#turning;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTurn();
    this.#watch.stop();
    const releaseAll = (): Promise<unknown> =>
      Promise.allSettled([...this.#held.keys()].map((shard) => this.#release(shard)));
    // Beside a turn that has not ended, and then what that turn still took.
    await Promise.all([this.#turning, releaseAll()]);
    await releaseAll();
    await this.#member.release();
  }

  #schedule(wait: number): void {
    if (this.#stopped) return;
    this.#cancelTurn();
    this.#cancelTurn = this.#options.timers.after(wait as Millis, () => void this.turn());
  }

  async #turn(): Promise<void> {
    if (this.#stopped) return;
    this.#options.onTurn?.();
    try {
      // A membership that is held is renewed by the lease's own timer.
      if (this.#member.epoch === null) await this.#member.turn();
      if (this.#member.epoch === null || this.#member.alone || !this.#read) return;
      const { host, boot, clock, duration } = this.#options;
      const now = clock.monotonic();
      await Promise.allSettled(this.#members.overdue(host, now).map((gone) => this.#remove(gone)));
      this.#forget();
      const { take, give } = movesOf(this.#members.view({ host, boot }, duration, now));
      const unclaimed = [...Array(SHARDS).keys()].filter((shard) => this.#unclaimed(shard));
      const taken = new Set([...take, ...unclaimed]);
      // Wait for all: a write that is answered late must not collide with the next turn's.
      await Promise.allSettled([...taken].map((shard) => this.#take(shard)));
      // At once: each may wait for the store.
      await Promise.allSettled(give.map((shard) => this.#release(shard)));
    } catch {
      // The lease expires or is renewed on its own, and the next turn retries.
    }
  }

  /** Deletes a membership at its last known revision only: a host that has renewed stays. */
  async #remove({
    host,
    revision,
  }: {
    readonly host: string;
    readonly revision: number;
  }): Promise<void> {
    const key = memberKey(host);
    if (!(await this.#bucket.deleteAt(key, revision))) return;
    this.#members.take({ key, value: null, revision }, this.#options.clock.monotonic());
  }

  /** Drops shards that another host has taken, or that an earlier membership held. */
  #forget(): void {
    for (const [shard, heldShard] of this.#held) {
      const known = this.#members.leaseOfShard(shard);
      if (
        heldShard.term !== this.#member.term ||
        (known !== null && known.revision > heldShard.epoch)
      )
        this.#held.delete(shard);
    }
  }

  /**
   * The shard's key names this host, but its lease is unknown here: from an earlier membership, or
   * by a write whose answer was lost.
   */
  #unclaimed(shard: number): boolean {
    const known = this.#members.leaseOfShard(shard);
    if (known?.host !== this.#options.host || this.#held.has(shard)) return false;
    return known.revision > (this.#released.get(shard) ?? 0);
  }

  async #take(shard: number): Promise<void> {
    if (this.#held.has(shard) || this.#stopped) return;
    const { host, boot, duration } = this.#options;
    const { term } = this.#member;
    const key = shardKey(shard);
    // Read again, because the watch may be behind. The owner's membership is older than its lease,
    // so it is read second: a membership that is gone then never comes back under that boot.
    const entry = await this.#bucket.get(key);
    const owner = entry && holderOf(entry);
    if (owner && owner.host !== host) {
      const member = await this.#bucket.get(memberKey(owner.host));
      if (member && holderOf(member)?.boot === owner.boot) return;
    }
    const value = encodeMessage({ v: 1, host, boot, renewal: 0, duration });
    const epoch = entry
      ? await this.#bucket.update(key, value, entry.revision)
      : await this.#bucket.create(key, value);
    if (epoch === null || this.#member.term !== term) return;
    const heldShard: HeldShard = { epoch, term, served: false };
    this.#held.set(shard, heldShard);
    await this.#options.onAcquired?.(shard, epoch);
    heldShard.served = true;
  }

  /** Stops serving the shard at once, and deletes its key when its agents are saved. */
  async #release(shard: number): Promise<void> {
    const heldShard = this.#held.get(shard);
    if (!heldShard) return;
    this.#held.delete(shard);
    this.#released.set(shard, heldShard.epoch);
    const isSameTerm = (): boolean => heldShard.term === this.#member.term;
    if (!isSameTerm()) return;
    await this.#options.onRelease?.(shard, () => isSameTerm() && this.#member.epoch !== null);
    try {
      await this.#bucket.deleteAt(shardKey(shard), heldShard.epoch);
    } catch (error) {
      // If the key still names this host, the next turn takes the shard and releases it again;
      // otherwise no host would ever own it.
      this.#released.delete(shard);
      throw error;
    }
  }
}
