import { type Broker, buckets, Lease } from '../broker/index.js';
import type { Clock, Millis, Timers } from '../config/index.js';

/**
 * Functions are dealt to agent hosts by shard, and shards are leased: so lease traffic is the same for ten functions as for
 * ten thousand. No more agent hosts than this can have work.
 */
export const SHARDS = 32;

/** FNV-1a over the name: the same shard on every host. */
export function shardOf(fn: string): number {
  let hash = 2166136261;
  for (let i = 0; i < fn.length; i++) hash = Math.imul(hash ^ fn.charCodeAt(i), 16777619);
  return (hash >>> 0) % SHARDS;
}

export interface ShardOptions {
  readonly broker: Broker;
  readonly host: string;
  readonly boot: string;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Length of a lease: after a crash another host takes over this much later. */
  readonly duration: Millis;
}

/** The shards of one agent host: as many as its fair share of the hosts that are there. */
export class Shards {
  readonly #options: ShardOptions;
  readonly #leases = new Map<number, Lease>();

  constructor(options: ShardOptions) {
    this.#options = options;
    for (let shard = 0; shard < SHARDS; shard++) this.#contend(shard);
  }

  get owned(): number {
    let owned = 0;
    for (const lease of this.#leases.values()) if (lease.epoch !== null) owned++;
    return owned;
  }

  /** Epoch of the function's shard while it is ours, else null. */
  epochOf(fn: string): number | null {
    return this.#leases.get(shardOf(fn))?.epoch ?? null;
  }

  /** Tries to take what is free, now; called at connect. */
  async turn(): Promise<void> {
    await Promise.all([...this.#leases.values()].map((lease) => lease.turn()));
  }

  /** So many agent hosts are there: gives back what is above the fair share, contends for what is below. */
  async rebalance(hosts: number): Promise<void> {
    const share = Math.ceil(SHARDS / Math.max(1, hosts));
    const owned = [...this.#leases].filter(([, lease]) => lease.epoch !== null);
    const given: Promise<void>[] = [];
    for (const [shard, lease] of owned.slice(share)) {
      this.#leases.delete(shard);
      given.push(lease.release());
    }
    if (owned.length < share) {
      for (let shard = 0; shard < SHARDS; shard++) this.#contend(shard);
    } else {
      // Full: stops contending, or what was given back would be taken again.
      for (const [shard, lease] of this.#leases) {
        if (lease.epoch !== null) continue;
        this.#leases.delete(shard);
        given.push(lease.release());
      }
    }
    await Promise.all(given);
  }

  async stop(): Promise<void> {
    const leases = [...this.#leases.values()];
    this.#leases.clear();
    await Promise.all(leases.map((lease) => lease.release()));
  }

  #contend(shard: number): void {
    if (this.#leases.has(shard)) return;
    const { broker, host, boot, clock, timers, duration } = this.#options;
    const bucket = broker.keyValue(buckets.leases);
    this.#leases.set(shard, new Lease({ bucket, key: `shard-${shard}`, host, boot, clock, timers, duration }));
  }
}
