import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { connect, nkeys } from 'nats';
import { type BrokerStatus, launchNatsServer, NatsBroker, runAggregator, subjects } from '../../broker/index.js';
import type { GleanerError } from '../../config/index.js';
import { systemClock, systemTimers } from '../../config/index.js';
import { bytes, textOf, until } from './contract/harness.js';
import { natsServerHere, RealServer } from './contract/server.js';

test('a missing binary is named, with what to install', async (t) => {
  const error = await t.throwsAsync<GleanerError>(
    launchNatsServer({ binary: 'no-such-nats-server', storeDirectory: tmpdir() }),
    { code: 'GLN_BROKER_LAUNCH' },
  );
  t.regex(error.message, /no such program/);
  t.regex(error.hint, /apt install nats-server/);
});

test('credentials that cannot be right are refused at once, naming the file', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gleaner-creds-'));
  const file = join(directory, 'agent.seed');
  const make = () => new NatsBroker({ servers: ['nats://127.0.0.1:1'], name: 'x', credentialsFile: file });
  t.throws(make, { code: 'GLN_BROKER_CREDENTIALS', message: /agent\.seed.*ENOENT/ });
  writeFileSync(file, 'SUBAD');
  t.throws(make, { code: 'GLN_BROKER_CREDENTIALS', message: /agent\.seed: others may read it: chmod 600/ });
  chmodSync(file, 0o600);
  t.throws(make, { code: 'GLN_BROKER_CREDENTIALS', message: /agent\.seed/ });
  writeFileSync(file, '-----BEGIN NATS USER JWT-----\neyJ0\n------END NATS USER JWT------\n');
  t.throws(make, { code: 'GLN_BROKER_CREDENTIALS', message: /lacks/ });
  rmSync(directory, { recursive: true });
});

if (natsServerHere()) {
  test.serial('a broker made before its server is usable at once, and works when the server comes', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    await server.down();
    const errors: string[] = [];
    const broker = new NatsBroker({ servers: [server.url], name: 'early' });
    broker.onStatus((status) => {
      if (status.kind === 'error') errors.push(status.error.code);
    });
    const seen: string[] = [];
    broker.subscribe('early.>', (message) => seen.push(textOf(message.data)));
    const entries: string[] = [];
    broker.keyValue('early').watch((entry) => entries.push(textOf(entry.value)));
    t.false(broker.publish('early.x', bytes('lost')));
    await until(() => errors.length > 0, 'the failure is told');
    await server.up();
    await until(() => broker.connected, 'connected');
    await broker.keyValue('early').put('k', bytes('v'));
    broker.publish('early.x', bytes('now'));
    await until(() => seen.length === 1 && entries.length === 1, 'both arrive');
    t.deepEqual([seen, entries, errors], [['now'], ['v'], ['GLN_BROKER_DISCONNECTED']]);
    await broker.close();
  });

  test.serial(
    'an outage longer than the ten attempts after which the client would give up ends in a reconnect',
    async (t) => {
      const server = new RealServer();
      t.teardown(() => server.remove());
      await server.up();
      const broker = await server.connect('patient');
      await server.down();
      // Attempts come every 250 to 500 ms here: ten of them take at most 5 s.
      await new Promise((resolve) => setTimeout(resolve, 7000));
      t.false(broker.connected);
      await server.up();
      await until(() => broker.connected, 'reconnected', 3000);
      t.is(broker.counters.connects, 2);
    },
  );

  test.serial('twenty lost connections leave no consumer behind, and the watch still works', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const broker = await server.connect('watcher');
    const seen: string[] = [];
    await broker.keyValue('mode').watch((entry) => seen.push(textOf(entry.value))).ready;
    for (let i = 0; i < 20; i++) {
      const before = broker.counters.connects;
      await server.down();
      await server.up();
      await until(() => broker.counters.connects > before && broker.connected, `reconnect ${i}`);
    }
    await broker.keyValue('mode').put('global', bytes('off'));
    await until(() => seen.includes('off'), 'the change is seen');
    const admin = await connect({ servers: server.url });
    const info = await (await admin.jetstreamManager()).streams.info('KV_mode');
    t.is(info.state.consumer_count, 0);
    await admin.close();
    await broker.close();
  });

  test.serial(
    'a server that comes back with an empty store gets its buckets again, and old values are deleted',
    async (t) => {
      const server = new RealServer();
      t.teardown(() => server.remove());
      await server.up();
      const broker = await server.connect('watcher');
      const kv = broker.keyValue('mode');
      const seen: string[] = [];
      await kv.watch((entry) => seen.push(`${entry.key}=${textOf(entry.value)}`)).ready;
      await kv.put('a', bytes('1'));
      await kv.put('a', bytes('2'));
      await until(() => seen.includes('a=2'), 'written');
      await server.down();
      rmSync(join(server.directory, 'js'), { recursive: true });
      await server.up();
      await until(() => seen.at(-1) === 'a=null', 'deleted');
      await kv.put('a', bytes('new'));
      await until(() => seen.at(-1) === 'a=new', 'a lower revision of the new bucket counts');
      t.pass();
      await broker.close();
    },
  );

  test.serial('a server that takes nothing more costs bounded memory: messages are dropped and counted', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const broker = new NatsBroker({ servers: [server.url], name: 'backlog', backlogBytes: 1_000_000 });
    await until(() => broker.connected, 'connected');
    process.kill(server.pid, 'SIGSTOP');
    let sent = 0;
    for (let i = 0; i < 20_000; i++) if (broker.publish('flood', new Uint8Array(1000))) sent++;
    // 1064 bytes count for each message: at most 939 fit in the backlog.
    t.true(sent <= 939, `${sent}`);
    t.is(broker.counters.droppedBacklog, 20_000 - sent);
    process.kill(server.pid, 'SIGCONT');
    await broker.flush();
    await until(() => broker.publish('flood', new Uint8Array(1000)), 'it goes on');
    await broker.close();
  });

  test.serial('a refused client is told apart from a missing server, and a forbidden subject is named', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    const config = join(server.directory, 'auth.conf');
    const pair = nkeys.createUser();
    writeFileSync(
      config,
      `authorization { users = [
        { user: reader, password: secret, permissions: { publish: ["_INBOX.>", "$JS.API.>"], subscribe: [">"] } }
        { nkey: ${pair.getPublicKey()} }
      ] }`,
    );
    await server.up(['-c', config]);
    const codesOf = (broker: NatsBroker): string[] => {
      const codes: string[] = [];
      broker.onStatus((status: BrokerStatus) => {
        if (status.kind === 'error') codes.push(`${status.error.code} ${status.error.message}`);
      });
      return codes;
    };
    const stranger = new NatsBroker({ servers: [server.url], name: 's', user: 'reader', password: 'wrong' });
    const refused = codesOf(stranger);
    await until(() => refused.length > 0, 'refusal');
    t.regex(refused[0]!, /^GLN_BROKER_AUTH /);
    await stranger.close();

    const reader = new NatsBroker({ servers: [server.url], name: 'r', user: 'reader', password: 'secret' });
    const forbidden = codesOf(reader);
    await until(() => reader.connected, 'connected');
    reader.publish(subjects.meanField, bytes('{}'));
    await until(() => forbidden.length > 0, 'violation');
    t.regex(forbidden[0]!, /^GLN_BROKER_AUTH .*gleaner\.v1\.meanfield/);
    await reader.close();

    const seedFile = join(server.directory, 'user.seed');
    writeFileSync(seedFile, new TextDecoder().decode(pair.getSeed()), { mode: 0o600 });
    const right = new NatsBroker({ servers: [server.url], name: 'n', credentialsFile: seedFile });
    await until(() => right.connected, 'nkey accepted');
    await right.close();
  });

  test.serial('without JetStream stores say so, and an aggregator publishes all the same', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    const config = join(server.directory, 'nojs.conf');
    writeFileSync(config, 'accounts { A { users = [ { user: a, password: a } ] } }\nno_auth_user: a\n');
    await server.up(['-c', config]);
    const broker = await server.connect();
    await t.throwsAsync(broker.keyValue('x').get('y'), { code: 'GLN_BROKER_NO_JETSTREAM' });
    let fields = 0;
    broker.subscribe(subjects.meanField, () => fields++);
    const aggregator = runAggregator({
      broker,
      clock: systemClock,
      timers: systemTimers,
      intervalMs: 50,
      host: 'one',
      boot: 'boot',
    });
    await until(() => fields >= 2, 'two mean fields');
    await aggregator.stop();
    t.pass();
    await broker.close();
  });
}
