import { isHostName, type KeyValueEntry } from '../../../broker/index.js';
import { decodeLease } from '../../../broker/messages/index.js';
import type { Millis } from '../../../config/index.js';
import { SHARDS, type SharingView } from './plan.js';

const MEMBER = 'agents-';
const SHARD_KEY = /^shard-(\d{1,4})$/;

export const memberKey = (host: string): string => `${MEMBER}${host}`;
export const shardKey = (shard: number): string => `shard-${shard}`;

/** The owner of an entry: a host and one start of its process. */
export interface Holder {
  readonly host: string;
  readonly boot: string;
}

/** Null: the entry is deleted or unreadable, so it has no owner. */
export function holderOf({
  value,
}: Pick<KeyValueEntry, 'value'>): (Holder & { readonly duration: number }) | null {
  const lease = value === null ? null : decodeLease(value);
  return lease?.ok ? lease.message : null;
}

interface Member {
  readonly boot: string;
  readonly revision: number;
  /** When this revision was first seen here. */
  readonly at: number;
  readonly duration: number;
}

export interface ShardLease extends Holder {
  readonly revision: number;
}

/**
 * One agent host's view of the bucket of leases: the members, and the owner of each shard. A
 * shard's lease counts while its owner is a member under the same boot. All times are this host's
 * own: a member whose entry has not changed for its duration is gone.
 */
export class Members {
  readonly #members = new Map<string, Member>();
  readonly #leases: (ShardLease | null)[] = new Array(SHARDS).fill(null);
  readonly #longest: number;
  #changedAt: number;

  /** `duration`: of this host's membership; another host's counts up to four times that. */
  constructor(duration: Millis, now: Millis) {
    this.#longest = 4 * duration;
    this.#changedAt = now;
  }

  /** True if a member joined or left, or a shard changed its owner. */
  take(entry: KeyValueEntry, now: Millis): boolean {
    const host = entry.key.startsWith(MEMBER) ? entry.key.slice(MEMBER.length) : '';
    if (isHostName(host)) return this.#takeMember(host, entry, now);
    const shard = Number(SHARD_KEY.exec(entry.key)?.[1] ?? Number.NaN);
    if (!(shard < SHARDS)) return false;
    const before = this.#ownerOf(shard);
    const holder = holderOf(entry);
    this.#leases[shard] = holder && {
      host: holder.host,
      boot: holder.boot,
      revision: entry.revision,
    };
    return this.#ownerOf(shard) !== before;
  }

  #takeMember(host: string, entry: KeyValueEntry, now: Millis): boolean {
    const known = this.#members.get(host);
    const holder = holderOf(entry);
    if (holder?.host === host) {
      const { boot } = holder;
      const duration = Math.min(holder.duration, this.#longest);
      this.#members.set(host, { boot, revision: entry.revision, at: now, duration });
      if (known?.boot === boot) return false;
    } else if (!this.#members.delete(host)) return false;
    this.#changedAt = now;
    return true;
  }

  /** Members that have not renewed within their own duration, with their last revision. */
  overdue(self: string, now: Millis): { readonly host: string; readonly revision: number }[] {
    return [...this.#members]
      .filter(([host, { at, duration }]) => host !== self && now - at > duration)
      .map(([host, { revision }]) => ({ host, revision }));
  }

  leaseOfShard(shard: number): ShardLease | null {
    return this.#leases[shard] ?? null;
  }

  /** `self` is always a member: its own lease decides, not the watched bucket. */
  view({ host: self, boot }: Holder, term: number, now: Millis): SharingView {
    const owners = this.#leases.map((shardLease, shard) =>
      shardLease?.host === self ? (shardLease.boot === boot ? self : null) : this.#ownerOf(shard),
    );
    return {
      self,
      members: [...new Set([self, ...this.#members.keys()])],
      membersFor: now - this.#changedAt,
      owners,
      term,
    };
  }

  #ownerOf(shard: number): string | null {
    const shardLease = this.#leases[shard];
    return shardLease && this.#members.get(shardLease.host)?.boot === shardLease.boot
      ? shardLease.host
      : null;
  }
}
