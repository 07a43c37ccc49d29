import test from 'ava';
import { runAgentHost } from '../../../../agents/host/index.js';
import { shardObject } from '../../../../agents/host/sharing/hand-over.js';
import { shardOf } from '../../../../agents/host/sharing/plan.js';
import { createManager } from '../../../../agents/managers/index.js';
import { buckets, functionToken, objectStores, subjects } from '../../../../broker/index.js';
import { encodeMessage } from '../../../../broker/messages/index.js';
import { decodeOwnRegistration } from '../../../../broker/messages/values.js';
import { type Millicores, mebibytes, millis, SeededRandom } from '../../../../config/index.js';
import { ManualTime } from '../../../support/manual-time.js';
import { MemoryBus } from '../../../support/memory-broker/memory-bus.js';
import { observation } from '../../../support/observations.js';
import { settle } from '../../../support/settle.js';

/**
 * An agent host that forgets after 240 s: it sweeps every 10 s and refreshes entries every 60
 * s.
 */
function stage(most = 100_000) {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const hook = bus.connect();
  const start = (host: string) =>
    runAgentHost({
      broker: bus.connect(),
      clock: time,
      timers: time,
      random: new SeededRandom(1),
      manager: createManager('greedy', {
        cap: { cpu: 4000 as Millicores, memory: mebibytes(1024) },
      }),
      intervalMs: 1000,
      host,
      registry: { forgetAfter: millis(240_000), most },
    });
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds * 2; i++) {
      time.advance(millis(500));
      await settle();
    }
  };
  let step = 0;
  const call = async (fn: string): Promise<void> => {
    hook.publish(
      subjects.observation(fn),
      encodeMessage(observation({ function: fn, step: ++step, observedAt: time.monotonic() })),
    );
    await settle();
  };
  const kv = hook.keyValue(buckets.functions);
  const registered = async (): Promise<string[]> =>
    (await kv.keys()).map((key) => Buffer.from(key, 'base64url').toString()).sort();
  return { time, bus, hook, start, pass, call, kv, registered };
}

test('a function without activations is forgotten in time, marker included', async (t) => {
  const { bus, start, pass, call, kv, registered } = stage();
  const agents = start('agents-1');
  t.teardown(() => agents.stop());
  await settle();
  await call('/guest/daily');
  await call('/guest/once');
  const first = decodeOwnRegistration((await kv.get(functionToken('/guest/daily')))!.value!);
  for (let i = 0; i < 8; i++) {
    await pass(29);
    await call('/guest/daily');
  }
  // 232 s: no entry is older than 240 s.
  t.deepEqual(await registered(), ['/guest/daily', '/guest/once']);
  await pass(20);
  t.deepEqual(await registered(), ['/guest/daily']);
  t.is(agents.agents, 1, 'its agent is gone, too');
  await pass(20);
  // One message in the bucket: the other function's marker was purged at the next sweep.
  t.is(bus.buckets.get(buckets.functions)!.entries.size, 1);
  t.like(agents.registry, { functions: 1, unreadable: 0, forgotten: 1, evicted: 0, failures: 0 });
  t.true(agents.registry.markers >= 1);
  const now = decodeOwnRegistration((await kv.get(functionToken('/guest/daily')))!.value!);
  t.true(
    first.ok && now.ok && now.message.seenAt! > first.message.seenAt!,
    'it says when it was seen',
  );
  // It is registered again at its next activation.
  await call('/guest/once');
  t.deepEqual(await registered(), ['/guest/daily', '/guest/once']);
});

test('an entry that another program has changed is neither replaced nor deleted', async (t) => {
  const { start, pass, call, kv, registered } = stage();
  const agents = start('agents-1');
  t.teardown(() => agents.stop());
  await settle();
  await call('/guest/noted');
  const entry = JSON.parse(
    Buffer.from((await kv.get(functionToken('/guest/noted')))!.value!).toString(),
  );
  await kv.put(functionToken('/guest/noted'), encodeMessage({ ...entry, owner: 'team billing' }));
  await kv.put('contact', encodeMessage({ v: 1, text: 'call us first' }));
  await pass(70);
  await call('/guest/noted');
  await pass(300);
  t.deepEqual(await kv.keys(), [functionToken('/guest/noted'), 'contact']);
  t.is(
    JSON.parse(Buffer.from((await kv.get(functionToken('/guest/noted')))!.value!).toString()).owner,
    'team billing',
  );
  t.like(agents.registry, { functions: 0, unreadable: 2, forgotten: 0 });
  t.true((await registered()).length === 2);
});

test('of too many entries the least recently seen are deleted', async (t) => {
  const { start, pass, call, registered } = stage(3);
  const agents = start('agents-1');
  t.teardown(() => agents.stop());
  await settle();
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    await call(`/guest/${name}`);
    await pass(1);
  }
  await pass(15);
  t.deepEqual(await registered(), ['/guest/c', '/guest/d', '/guest/e']);
  t.like(agents.registry, { functions: 3, evicted: 2 });
});

test('the new owner of a function forgets its entry; a future time counts as now', async (t) => {
  const { time, start, pass, call, kv, registered } = stage();
  const one = start('agents-1');
  await settle();
  await call('/guest/left');
  await one.stop();
  const entry = JSON.parse(
    Buffer.from((await kv.get(functionToken('/guest/left')))!.value!).toString(),
  );
  const ahead = { ...entry, function: '/guest/ahead', seenAt: time.wall() + 1e15 };
  await kv.put(functionToken('/guest/ahead'), encodeMessage(ahead));
  const two = start('agents-2');
  t.teardown(() => two.stop());
  await pass(200);
  t.deepEqual(await registered(), ['/guest/ahead', '/guest/left']);
  await pass(60);
  t.deepEqual(await registered(), ['/guest/ahead']);
});

test('weights and tables of forgotten functions are deleted, and no other objects', async (t) => {
  const { hook, start, pass, call } = stage();
  const agents = start('agents-1');
  t.teardown(() => agents.stop());
  await settle();
  await call('/guest/here');
  const objects = hook.objects(objectStores.policies);
  const [here, gone] = ['/guest/here', '/guest/gone'].map((name) => functionToken(name));
  const kept = [`own-simppo-${here}`, `concurrency.${here}.MC4wLjE`, `own-simppo-${here}.v1`];
  const other = ['faasrm', 'agents-shard-7', 'own-something-else', 'concurrency.odd'];
  const left = [
    `own-single-agent-${gone}`,
    `concurrency.${gone}.MC4wLjE`,
    `concurrency.${gone}.MC4wLjI`,
    // Beside those of a newer release.
    `own-simppo-${gone}.v1`,
    `concurrency.${gone}.MC4wLjE.v1`,
  ];
  for (const name of [...kept, ...other, ...left]) await objects.put(name, new Uint8Array(1));
  await pass(30);
  // The host itself saves the agents of its shards.
  const own = shardObject(shardOf('/guest/here'));
  const names = (await objects.names()).filter((name) => name !== own);
  t.deepEqual(names.sort(), [...kept, ...other].sort());
  t.is(agents.registry.objects, left.length);
});
