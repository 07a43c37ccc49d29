import { hashOf } from '../../../config/index.js';

/**
 * Agent hosts lease shards of functions, so that lease traffic does not depend on the number of
 * functions. No more agent hosts than this can have work.
 */
export const SHARDS = 64;

/** Most shards that a host releases per turn: a new host must not move everything at once. */
export const MOVES_A_TURN = 8;

/** The same on every host. */
export const shardOf = (fn: string): number => hashOf(fn) % SHARDS;

/** FNV's low bits depend little on the end of a short text, so murmur3's finalizer mixes them. */
function rankOf(shard: number, host: string): number {
  let hash = hashOf(`${host} ${shard}`);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * The host that should own each shard, by rendezvous hashing with bounded loads. Every host that
 * knows the same members computes the same assignment, no member has more than
 * ceil(SHARDS / members), and few shards move when a member joins or leaves.
 */
export function assignShards(members: readonly string[]): readonly string[] {
  const most = Math.ceil(SHARDS / Math.max(1, members.length));
  const loads = new Map<string, number>();
  const assigned: string[] = [];
  // Equal ranks are ordered by name, the same on all hosts.
  const sorted = [...new Set(members)].sort();
  for (let shard = 0; shard < SHARDS; shard++) {
    let best = '';
    let bestRank = -1;
    for (const host of sorted) {
      const rank = rankOf(shard, host);
      if ((loads.get(host) ?? 0) < most && rank > bestRank) {
        best = host;
        bestRank = rank;
      }
    }
    loads.set(best, (loads.get(best) ?? 0) + 1);
    assigned.push(best);
  }
  return assigned;
}

export interface SharingView {
  readonly self: string;
  /** Agent hosts that are alive, including this one. */
  readonly members: readonly string[];
  /** Time since the members last changed, by this host's clock, ms. */
  readonly membersFor: number;
  /** By shard: its owner if that is a member; null: free. */
  readonly owners: readonly (string | null)[];
  /** A term of membership, ms: members that stayed for a term are not flapping. */
  readonly term: number;
}

export interface Moves {
  readonly take: readonly number[];
  readonly give: readonly number[];
}

/**
 * The shards that one host should take and release now. It takes free shards that are assigned to
 * it, and releases those of other hosts once the members have been stable for a term, at most
 * {@link MOVES_A_TURN} at once.
 */
export function movesOf({ self, members, membersFor, owners, term }: SharingView): Moves {
  const assigned = assignShards(members);
  const take: number[] = [];
  const give: number[] = [];
  for (let shard = 0; shard < SHARDS; shard++) {
    const owner = owners[shard] ?? null;
    if (owner === null) {
      if (assigned[shard] === self) take.push(shard);
    } else if (
      owner === self &&
      assigned[shard] !== self &&
      membersFor >= term &&
      give.length < MOVES_A_TURN
    ) {
      give.push(shard);
    }
  }
  return { take, give };
}
