import test from 'ava';
import { SHARDS } from '../../../../agents/host/sharing/index.js';
import { assignShards } from '../../../../agents/host/sharing/plan.js';
import { Cluster, playSeed, TERM } from './cluster.js';

test('a joining host gets a few shards a turn; one that stops is replaced at once', async (t) => {
  const cluster = new Cluster(1);
  const one = cluster.start('agents-1');
  await cluster.pass(1000);
  t.deepEqual(cluster.owned, [SHARDS]);
  const two = cluster.start('agents-2');
  // After the term (1.5 s) eight move each turn of .4 to .6 s: 32 take four turns.
  await cluster.pass(1800);
  t.true(two.shards.owned <= 16, `${two.shards.owned} have moved after .3 s`);
  await cluster.pass(4000);
  t.deepEqual(cluster.owned, [SHARDS / 2, SHARDS / 2]);
  t.deepEqual(cluster.owners(), [...assignShards(['agents-1', 'agents-2'])]);
  const moved = [one.onAcquired.length, two.onAcquired.length];
  await cluster.pass(20_000);
  t.deepEqual([one.onAcquired.length, two.onAcquired.length], moved, 'nothing moves any more');
  const stopped = two.shards.stop();
  await cluster.pass(200);
  await stopped;
  cluster.hosts.pop();
  await cluster.pass(400);
  t.deepEqual(cluster.owned, [SHARDS]);
  t.deepEqual(cluster.violations, []);
});

test('a dead host is replaced within two terms, or at once by its own restart', async (t) => {
  const cluster = new Cluster(2);
  cluster.start('agents-1');
  const two = cluster.start('agents-2');
  await cluster.pass(8000);
  cluster.kill(two);
  await cluster.pass(2 * TERM);
  t.deepEqual(cluster.owned, [SHARDS]);
  const one = cluster.hosts[0]!;
  cluster.kill(one);
  cluster.start('agents-1');
  await cluster.pass(600);
  t.deepEqual(cluster.owned, [SHARDS]);
  t.deepEqual(cluster.violations, []);
});

test('a host that was stopped beyond its lease has lost its shards and serves none', async (t) => {
  const cluster = new Cluster(3);
  const one = cluster.start('agents-1');
  const two = cluster.start('agents-2');
  await cluster.pass(8000);
  const epochs = Array.from({ length: SHARDS }, (_, shard) => one.shards.epochOfShard(shard));
  one.machine.held = true;
  await cluster.pass(4000);
  t.is(two.shards.owned, SHARDS);
  one.machine.resume();
  // Not even before its first turn: the lease has expired by its own clock.
  t.is(one.shards.owned, 0);
  await cluster.pass(8000);
  t.deepEqual(cluster.owned, [SHARDS / 2, SHARDS / 2]);
  for (let shard = 0; shard < SHARDS; shard++) {
    const epoch = one.shards.epochOfShard(shard);
    if (epoch !== null && epochs[shard] !== null) t.true(epoch > epochs[shard]!, 'a new epoch');
  }
  t.deepEqual(cluster.violations, []);
});

test('a host stopped for less than its lease keeps its shards under the same epochs', async (t) => {
  const cluster = new Cluster(4);
  const one = cluster.start('agents-1');
  cluster.start('agents-2');
  await cluster.pass(8000);
  const epochs = Array.from({ length: SHARDS }, (_, shard) => one.shards.epochOfShard(shard));
  one.machine.held = true;
  await cluster.pass(700);
  one.machine.resume();
  await cluster.pass(1500);
  t.deepEqual(
    Array.from({ length: SHARDS }, (_, shard) => one.shards.epochOfShard(shard)),
    epochs,
  );
  t.deepEqual(cluster.violations, []);
});

test('while NATS is away no shard has an owner, and afterwards each has one again', async (t) => {
  const cluster = new Cluster(5);
  cluster.start('agents-1');
  cluster.start('agents-2');
  await cluster.pass(8000);
  cluster.bus.takeDown();
  await cluster.pass(TERM);
  t.deepEqual(cluster.owned, [0, 0]);
  await cluster.pass(10_000);
  cluster.bus.bringUp();
  await cluster.pass(2 * TERM);
  t.is(cluster.owned[0]! + cluster.owned[1]!, SHARDS);
  t.deepEqual(cluster.violations, []);
});

/** Faults found: a shard that was released by a lost write stayed without an owner (103); a
 * take that was answered late brought back an older epoch (107, 119, 122). */
const SEEDS = 24;

test(`${SEEDS} random histories of faults: no shard ever has two owners`, async (t) => {
  t.timeout(120_000);
  for (let seed = 100; seed < 100 + SEEDS; seed++) t.deepEqual(await playSeed(seed), []);
});
