import test from 'ava';
import { connect } from 'nats';
import { runAgentHost } from '../../../../agents/host/index.js';
import { shardObject } from '../../../../agents/host/sharing/hand-over.js';
import { SHARDS } from '../../../../agents/host/sharing/index.js';
import { createManager } from '../../../../agents/managers/index.js';
import { buckets, functionToken, objectStores, subjects } from '../../../../broker/index.js';
import { encodeMessage } from '../../../../broker/messages/index.js';
import {
  type Millicores,
  mebibytes,
  millis,
  SeededRandom,
  systemClock,
  systemTimers,
} from '../../../../config/index.js';
import { until } from '../../../broker/contract/harness.js';
import { natsServerHere, RealServer } from '../../../broker/contract/server.js';
import { observation } from '../../../support/observations.js';
import { allowed } from '../../../support/slowness.js';

if (natsServerHere()) {
  test('over NATS forgotten functions leave no message in any store', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const hook = await server.connect('hook');
    const agents = runAgentHost({
      broker: await server.connect('agents'),
      host: 'agents-1',
      random: new SeededRandom(1),
      manager: createManager('greedy', {
        cap: { cpu: 4000 as Millicores, memory: mebibytes(1024) },
      }),
      clock: systemClock,
      timers: systemTimers,
      intervalMs: 500,
      registry: { forgetAfter: millis(1500), most: 1000 },
    });
    t.teardown(() => agents.stop());
    await until(() => agents.ownedShards === SHARDS, 'all shards leased');
    const objects = hook.objects(objectStores.policies);
    await objects.put('faasrm', new Uint8Array(10));
    const call = (fn: string, step: number): void => {
      hook.publish(
        subjects.observation(fn),
        encodeMessage(observation({ function: fn, step, observedAt: systemClock.monotonic() })),
      );
    };
    const functions = hook.keyValue(buckets.functions);
    for (let i = 0; i < 30; i++) {
      const fn = `/guest/once${i}`;
      call(fn, 1);
      await objects.put(`own-simppo-${functionToken(fn)}`, new Uint8Array(10));
    }
    await until(() => agents.agents === 30, 'all are seen');
    // The marker that a released lease leaves.
    const leases = hook.keyValue(buckets.leases);
    await leases.put('agents-gone', encodeMessage({ v: 1 }));
    await leases.delete('agents-gone');
    await until(() => agents.registry.forgotten === 30, 'all are forgotten', 30_000);
    await until(() => agents.registry.objects === 30, 'and their weights', 30_000);
    const client = await connect({ servers: server.url });
    t.teardown(() => client.close());
    const manager = await client.jetstreamManager();
    const messages = async (stream: string) => (await manager.streams.info(stream)).state.messages;
    const deadline = performance.now() + allowed(30_000);
    while ((await messages('KV_gleaner_functions')) > 0 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 100));
    t.is(await messages('KV_gleaner_functions'), 0, 'no entry and no marker');
    // Objects of no function stay, and those of the host's shards. Each object consists of two
    // messages: its metadata and its one chunk.
    const ofShards = new Set(Array.from({ length: SHARDS }, (_, shard) => shardObject(shard)));
    const names = await objects.names();
    t.deepEqual(
      names.filter((name) => !ofShards.has(name)),
      ['faasrm'],
    );
    // While an object is replaced its old chunk is there, too.
    let left = Number.NaN;
    const settled = performance.now() + allowed(10_000);
    do left = (await messages('OBJ_gleaner_policies')) - 2 * (await objects.names()).length;
    while (left !== 0 && performance.now() < settled);
    t.is(left, 0);
    const info = await manager.streams.info('KV_gleaner_leases', { subjects_filter: '>' });
    t.false('$KV.gleaner_leases.agents-gone' in (info.state.subjects ?? {}));
    // A forgotten function is registered again.
    call('/guest/once0', 2);
    await until(() => agents.agents === 1, 'seen again');
    const again = performance.now() + allowed(10_000);
    while ((await functions.keys()).length === 0 && performance.now() < again)
      await new Promise((resolve) => setTimeout(resolve, 20));
    t.deepEqual(await functions.keys(), [functionToken('/guest/once0')]);
  });
} else {
  test('nats-server is not installed: skipped', (t) => t.pass());
}
