import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { SHARDS } from '../../../../agents/host/sharing/index.js';
import {
  assignShards,
  MOVES_A_TURN,
  movesOf,
  shardOf,
} from '../../../../agents/host/sharing/plan.js';

const hosts = fc.uniqueArray(fc.stringMatching(/^[a-z0-9-]{1,12}$/), {
  minLength: 1,
  maxLength: 12,
});
const count = (assigned: readonly string[], host: string): number =>
  assigned.filter((one) => one === host).length;

testProp(
  'shards are assigned evenly, independent of the order of the members',
  [hosts],
  (t, members) => {
    const assigned = assignShards(members);
    t.deepEqual(assignShards([...members].reverse()), assigned);
    t.is(assigned.length, SHARDS);
    for (const host of members) t.true(count(assigned, host) <= Math.ceil(SHARDS / members.length));
    t.true(assigned.every((host) => members.includes(host)));
  },
);

test('a host that joins moves little more than its own share of shards', (t) => {
  const names = Array.from({ length: 8 }, (_, i) => `agents-${i}`);
  const before = assignShards(names.slice(0, 7));
  const after = assignShards(names);
  const moved = before.filter((host, shard) => host !== after[shard]).length;
  // The newcomer gets at most 64 / 8 = 8. Bounded loads (from 10 to 8 each) push some of the
  // others' on; an assignment by shard number modulo hosts would move 7 in 8 = 56.
  t.true(moved >= 1 && moved <= 24, `${moved} moved`);
});

test('functions spread over the shards', (t) => {
  const loads = new Array<number>(SHARDS).fill(0);
  for (let i = 0; i < 64_000; i++) loads[shardOf(`/guest/f${i}`)]!++;
  // 1000 each on average; a uniform distribution has a standard deviation of 31.
  t.true(
    Math.min(...loads) > 800 && Math.max(...loads) < 1200,
    `${Math.min(...loads)}..${Math.max(...loads)}`,
  );
});

const free: readonly null[] = new Array(SHARDS).fill(null);
const all = (host: string): readonly string[] => new Array(SHARDS).fill(host);

for (const [title, view, take, give] of [
  ['alone it takes everything', { members: ['a'], owners: free, membersFor: 0 }, SHARDS, 0],
  ['of two it takes its half', { members: ['a', 'b'], owners: free, membersFor: 0 }, SHARDS / 2, 0],
  [
    'what has an owner is not taken',
    { members: ['a', 'b'], owners: all('b'), membersFor: 1e6 },
    0,
    0,
  ],
  [
    'a host that has just joined gets nothing yet',
    { members: ['a', 'b'], owners: all('a'), membersFor: 999 },
    0,
    0,
  ],
  [
    'after a term it gets a few a turn',
    { members: ['a', 'b'], owners: all('a'), membersFor: 1000 },
    0,
    MOVES_A_TURN,
  ],
] as const) {
  test(`moves: ${title}`, (t) => {
    const moves = movesOf({ self: 'a', term: 1000, ...view });
    t.is(moves.take.length, take);
    t.is(moves.give.length, give);
  });
}

testProp(
  'following the moves ends with each shard at its assigned host',
  [hosts, fc.array(fc.nat(), { minLength: SHARDS, maxLength: SHARDS })],
  (t, members, start) => {
    // Any start: owned by a member, or free.
    const owners = start.map((number) =>
      number % 3 === 0 ? null : members[number % members.length]!,
    );
    for (let turn = 0; turn < 2 * SHARDS; turn++) {
      const self = members[turn % members.length]!;
      const { take, give } = movesOf({ self, members, owners, membersFor: 1e6, term: 1000 });
      t.true(give.length <= MOVES_A_TURN);
      for (const shard of take) {
        t.is(owners[shard], null);
        owners[shard] = self;
      }
      for (const shard of give) {
        t.is(owners[shard], self);
        owners[shard] = null;
      }
    }
    for (const self of members) {
      const { take } = movesOf({ self, members, owners, membersFor: 1e6, term: 1000 });
      for (const shard of take) owners[shard] = self;
    }
    t.deepEqual(owners, assignShards(members));
  },
);
