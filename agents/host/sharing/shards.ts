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
  /** A host that has not been heard of for this long has left. */
  readonly duration: Millis;
  /** A shard has become ours; it is served when this has resolved. Never rejects. */
  readonly onAcquired?: (shard: number, epoch: number) => Promise<void>;
  /**
   * A shard will be given back when this has resolved; nothing of it is served any more. Never
   * rejects.
   */
  readonly onRelease?: (shard: number) => Promise<void>;
  /** Once a turn, whether anything moved or not. */
  readonly onTurn?: () => void;
}

interface HeldShard {
  /** Revision of the shard's key: rises from owner to owner. */
  readonly epoch: number;
  /** Of the membership under which it was made. */
  readonly term: number;
  served: boolean;
}

/**
 * Turns come at this share of the duration, give or take a fifth: hosts that started together must
 * not act together.
 */
const TURN = 1 / 3;
/** After a change that somebody else made: soon, but not all at once. */
const RETRY_DELAY = 200;

/**
 * The shards of one agent host. One lease per host says that it is there; a shard's key names its
 * owner and is written only when the owner changes, so what is written grows with hosts and not
 * with functions.
 *
 * Two owners never both act: a shard is taken from another host only after that host's membership
 * was taken away at exactly the revision that had not changed for its duration, so the host finds
 * out at its next renewal and had given up by its own clock before; and whatever it may still send
 * carries a lower epoch than its successor's, which hooks refuse.
 */
export class Shards {
  readonly #options: ShardsOptions;
  readonly #bucket: KeyValue;
  readonly #member: Lease;
  readonly #members: Members;
  readonly #watch: KeyValueWatch;
  readonly #claims = new Map<number, HeldShard>();
  /** Epochs of claims that were given back: what is watched may still show them. */
  readonly #given = new Map<number, number>();
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
    // Before the whole bucket has been read nobody is missed and nothing looks free.
    this.#watch.ready.then(
      () => {
        this.#read = true;
        void this.turn();
      },
      () => undefined,
    );
    this.#schedule(0);
  }

  /** How many are served. */
  get owned(): number {
    const { epoch, alone } = this.#member;
    if (epoch === null) return 0;
    if (alone) return SHARDS;
    let owned = 0;
    for (const heldShard of this.#claims.values())
      if (heldShard.served && heldShard.term === this.#member.term) owned++;
    return owned;
  }

  /** Epoch of the function's shard while it is ours, else null. */
  epochOf(fn: string): number | null {
    return this.epochOfShard(shardOf(fn));
  }

  epochOfShard(shard: number): number | null {
    const member = this.#member.epoch;
    if (member === null) return null;
    // Nobody to ask, so nobody to share with.
    if (this.#member.alone) return 1;
    const heldShard = this.#claims.get(shard);
    return heldShard?.served && heldShard.term === this.#member.term ? heldShard.epoch : null;
  }

  /** Renews, and does what there is to do; called by its own timer, and at connect. */
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
    await this.#turning;
    await Promise.all([...this.#claims.keys()].map((shard) => this.#give(shard).catch(() => {})));
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
      // Renewed by its own timer.
      if (this.#member.epoch === null) await this.#member.turn();
      if (this.#member.epoch === null || this.#member.alone || !this.#read) return;
      const { host, boot, clock, duration } = this.#options;
      const now = clock.monotonic();
      await Promise.allSettled(this.#members.overdue(host, now).map((gone) => this.#putOut(gone)));
      this.#forget();
      const { take, give } = movesOf(this.#members.view({ host, boot }, duration, now));
      const mine = [...Array(SHARDS).keys()].filter((shard) => this.#unclaimed(shard));
      // All of them: a write that is answered late must not meet the next turn's.
      await Promise.allSettled([...new Set([...take, ...mine])].map((shard) => this.#take(shard)));
      for (const shard of give) await this.#give(shard);
    } catch {
      // Whatever the store says: the lease runs out or is renewed by itself, and the next turn
      // tries again.
    }
  }

  /** At the very revision it stopped at: a host that is not gone after all stays. */
  async #putOut({
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

  /** Claims that another's write or an earlier membership has ended. */
  #forget(): void {
    for (const [shard, heldShard] of this.#claims) {
      const known = this.#members.leaseOfShard(shard);
      if (
        heldShard.term !== this.#member.term ||
        (known !== null && known.revision > heldShard.epoch)
      )
        this.#claims.delete(shard);
    }
  }

  /**
   * Ours by its key, but not by what is known here: from an earlier membership, or by a write whose
   * answer was lost.
   */
  #unclaimed(shard: number): boolean {
    const known = this.#members.leaseOfShard(shard);
    if (known?.host !== this.#options.host || this.#claims.has(shard)) return false;
    return known.revision > (this.#given.get(shard) ?? 0);
  }

  async #take(shard: number): Promise<void> {
    if (this.#claims.has(shard) || this.#stopped) return;
    const { host, boot, duration } = this.#options;
    const { term } = this.#member;
    const key = shardKey(shard);
    // Read anew: what was watched may be behind. A claim's membership is older than the claim, so
    // it is read after it: once gone, it is gone for good.
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
    this.#claims.set(shard, heldShard);
    await this.#options.onAcquired?.(shard, epoch);
    heldShard.served = true;
  }

  /** Not served any more at once; free for the next when what is known of it is put by. */
  async #give(shard: number): Promise<void> {
    const heldShard = this.#claims.get(shard);
    if (!heldShard) return;
    this.#claims.delete(shard);
    this.#given.set(shard, heldShard.epoch);
    if (heldShard.term !== this.#member.term) return;
    await this.#options.onRelease?.(shard);
    try {
      await this.#bucket.deleteAt(shardKey(shard), heldShard.epoch);
    } catch (error) {
      // Where it is still ours by its key, it is taken and given once more: else it would be
      // nobody's for good.
      this.#given.delete(shard);
      throw error;
    }
  }
}
