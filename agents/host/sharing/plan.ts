import { hashOf } from '../../../config/index.js';

/**
 * Functions are dealt to agent hosts by shard, and shards are leased: so lease traffic is the same
 * for ten functions as for a hundred thousand. No more agent hosts than this can have work.
 */
export const SHARDS = 64;

/**
 * A host that has more than is meant for it gives back so many shards a turn: a new host must not
 * set everything in motion at once.
 */
export const MOVES_A_TURN = 8;

/** The same on every host. */
export const shardOf = (fn: string): number => hashOf(fn) % SHARDS;

/**
 * FNV's low bits say little of a short text's end: they are mixed once more (murmur3's finaliser).
 */
function rankOf(shard: number, host: string): number {
  let hash = hashOf(`${host} ${shard}`);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * Whose each shard should be, by rendezvous hashing with bounded loads: the same on every host that
 * knows the same members, nobody has more than ceil(SHARDS / members), and a member that comes or
 * goes moves few of the others' shards.
 */
export function assignShards(members: readonly string[]): readonly string[] {
  const most = Math.ceil(SHARDS / Math.max(1, members.length));
  const loads = new Map<string, number>();
  const assigned: string[] = [];
  // By name where ranks are equal: an order that all hosts share.
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
  /** Agent hosts that are there, oneself included. */
  readonly members: readonly string[];
  /** Since the members changed last, by one's own clock, ms. */
  readonly membersFor: number;
  /** By shard: its owner, where that is a member; null: free. */
  readonly owners: readonly (string | null)[];
  /** A term of membership, ms: what has been so for a term is no flapping. */
  readonly term: number;
}

export interface Moves {
  readonly take: readonly number[];
  readonly give: readonly number[];
}

/**
 * What one host should do now; pure. It takes what is free and meant for it. It gives what is meant
 * for another only while the members have not changed for a term, and only so many a turn.
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
