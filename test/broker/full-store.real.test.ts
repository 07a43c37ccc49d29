import test from 'ava';
import { NatsBroker } from '../../broker/nats/index.js';
import type { StoreEpisode } from '../../broker/store-health.js';
import { type GleanerError, millis } from '../../config/index.js';
import { Admin, startWithStore } from '../support/small-store.js';
import { bytes, textOf, until } from './contract/harness.js';
import { natsServerHere, RealServer } from './contract/server.js';

if (natsServerHere()) {
  test.serial(
    'a full store is reported as full and never as a server without JetStream',
    async (t) => {
      const server = new RealServer();
      t.teardown(() => server.remove());
      await startWithStore(server);
      const broker = await server.connect();
      const admin = await Admin.connect(server);
      const there = broker.keyValue('there');
      await there.put('k', bytes('before'));
      await admin.fill();

      const refused = await t.throwsAsync<GleanerError>(there.put('k', bytes('x'.repeat(200))), {
        code: 'GLN_BROKER_STORE_FULL',
      });
      t.regex(
        refused.message,
        /put in bucket there: the store is full: .*\(JetStream error 10\d{3}\)/,
      );
      t.regex(refused.hint, /max_file_store/);
      t.is(textOf((await there.get('k'))?.value), 'before', 'what is stored can still be read');
      await t.throwsAsync(broker.objects('policies').put('one', new Uint8Array(100_000)), {
        code: 'GLN_BROKER_STORE_FULL',
      });

      await admin.freeSpace();
      await there.put('k', bytes('after'));
      t.is(textOf((await there.get('k'))?.value), 'after');
      await admin.close();
      await broker.close();
    },
  );

  test.serial(
    'a stream that reserves too much names the reservation and is not retried per record',
    async (t) => {
      const server = new RealServer();
      t.teardown(() => server.remove());
      await startWithStore(server);
      const broker = await server.connect();
      const admin = await Admin.connect(server);
      let asked = 0;
      admin.connection.subscribe('$JS.API.STREAM.CREATE.big', { callback: () => asked++ });
      await admin.connection.flush();
      const episodes: StoreEpisode[] = [];
      broker.stores.onEpisode((episode) => episodes.push(episode));
      const stream = broker.stream('big', { subjects: ['big.>'], maxBytes: 128 * 2 ** 20 });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 200 }, () => stream.append('big.x', bytes('r'))),
      );
      for (const outcome of outcomes) {
        const { code, message } = (outcome as PromiseRejectedResult).reason as GleanerError;
        t.is(code, 'GLN_BROKER_STORE_FULL');
        t.regex(message, /create stream big, which reserves 128 MiB/);
      }
      await admin.connection.flush();
      // 200 records within much less than a second, and one attempt per second.
      t.true(asked <= 5, `${asked} attempts`);
      t.is(episodes.length, 1, 'told once');
      t.like(broker.stores.states(), [
        { store: 'big', operation: 'write', failed: 200, failure: { count: 200 } },
      ]);
      await admin.close();
      await broker.close();
    },
  );

  test.serial('a bucket is full per key, and its episode ends with the last key', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const broker = await server.connect();
    const admin = await Admin.connect(server);
    const kv = broker.keyValue('leases');
    const revision = await kv.put('a', bytes('1'));
    await kv.put('b', bytes('1'));
    await admin.refuseChanges('leases');
    const episodes: StoreEpisode[] = [];
    broker.stores.onEpisode((episode) => episodes.push(episode));
    for (let i = 0; i < 5; i++) {
      await t.throwsAsync(kv.update('a', bytes('2'), revision), {
        code: 'GLN_BROKER_STORE_FULL',
        message: /10077/,
      });
      await t.throwsAsync(kv.put('b', bytes('2')), { code: 'GLN_BROKER_STORE_FULL' });
      t.not(await kv.create(`new${i}`, bytes('1')), null, 'a new key is taken');
    }
    t.deepEqual(
      episodes.map(({ error, failure }) => [error?.code, failure.count]),
      [['GLN_BROKER_STORE_FULL', 1]],
    );
    await admin.allowChanges('leases');
    t.not(await kv.update('a', bytes('3'), revision), null);
    t.is(episodes.length, 1, 'b has not been written yet');
    await kv.put('b', bytes('3'));
    t.deepEqual([episodes[1]?.error, episodes[1]?.failure.count], [null, 10]);
    await admin.close();
    await broker.close();
  });

  test.serial(
    'a message of a bucket whose subject is not a key does not hide the keys',
    async (t) => {
      const server = new RealServer();
      t.teardown(() => server.remove());
      await server.up();
      const broker = await server.connect();
      const admin = await Admin.connect(server);
      const kv = broker.keyValue('modes');
      await kv.put('global', bytes('observe'));
      const client = admin.connection.jetstream();
      for (const key of ['a@b', 'ü', 'x"y', '$x'])
        await client.publish(`$KV.modes.${key}`, bytes('junk'));
      t.deepEqual(await kv.keys(), ['global']);
      const seen: string[] = [];
      await kv.watch(({ key, value }) => seen.push(`${key}=${textOf(value)}`)).ready;
      t.deepEqual(seen, ['global=observe']);
      t.is(
        await kv.sweep(
          () => true,
          () => 'keep',
        ),
        0,
      );
      // A flood of such notices, and of changes of one key, is bounded work, and the last value
      // arrives.
      for (let i = 0; i < 5000; i++) admin.connection.publish('$KV.modes.a@b', bytes('junk'));
      for (let i = 0; i < 2000; i++) admin.connection.publish('$KV.modes.global', bytes(`v${i}`));
      await admin.connection.flush();
      await until(() => seen.at(-1) === 'global=v1999', 'the newest value');
      await admin.close();
      await broker.close();
    },
  );

  test.serial('an object with missing chunks is an error, not an endless read', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const broker = new NatsBroker({
      servers: [server.url],
      name: 'reader',
      storeTimeout: millis(2000),
    });
    t.teardown(() => broker.close());
    await until(() => broker.connected, 'connected');
    const admin = await Admin.connect(server);
    const objects = broker.objects('policies');
    await objects.put('whole', new Uint8Array(300_000).fill(7));
    await objects.put('damaged', new Uint8Array(1000));
    t.is((await objects.get('whole'))?.byteLength, 300_000);
    const info = await (await admin.connection.jetstream().views.os('policies')).info('damaged');
    await admin.manager.streams.purge('OBJ_policies', { filter: `$O.policies.C.${info!.nuid}` });
    await t.throwsAsync(objects.get('damaged'), {
      code: 'GLN_BROKER_STORE',
      message: /chunks are missing/,
    });
    await objects.put('damaged', new Uint8Array(10));
    t.is((await objects.get('damaged'))?.byteLength, 10);
    t.is(await objects.get('absent'), null);
    await admin.close();
  });
}
