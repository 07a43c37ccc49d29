import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { connect, nkeys } from 'nats';
import { subjects } from '../../broker/index.js';
import { runAggregator } from '../../broker/mean-field/index.js';
import { NatsBroker } from '../../broker/nats/index.js';
import type { BrokerStatus } from '../../broker/port.js';
import { callService, serve } from '../../broker/services/index.js';
import { millis, systemClock, systemTimers } from '../../config/index.js';
import { freePort } from '../support/free-port.js';
import { ManualTime } from '../support/manual-time.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { bytes, textOf, until } from './contract/harness.js';
import { NATS_BINARY, natsServerHere, RealServer } from './contract/server.js';

test('invalid credentials are refused at once, with the file name', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gleaner-creds-'));
  const file = join(directory, 'agent.seed');
  const make = () =>
    new NatsBroker({ servers: ['nats://127.0.0.1:1'], name: 'x', credentialsFile: file });
  t.throws(make, { code: 'GLN_BROKER_CREDENTIALS', message: /agent\.seed.*ENOENT/ });
  writeFileSync(file, 'SUBAD');
  t.throws(make, {
    code: 'GLN_BROKER_CREDENTIALS',
    message: /agent\.seed: others may read it: chmod 600/,
  });
  chmodSync(file, 0o600);
  t.throws(make, { code: 'GLN_BROKER_CREDENTIALS', message: /agent\.seed/ });
  writeFileSync(file, '-----BEGIN NATS USER JWT-----\neyJ0\n------END NATS USER JWT------\n');
  t.throws(make, { code: 'GLN_BROKER_CREDENTIALS', message: /lacks/ });
  rmSync(directory, { recursive: true });
});

if (natsServerHere()) {
  test.serial('a broker is usable before its server starts, and connects later', async (t) => {
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
    t.deepEqual([seen, entries, errors], [['now'], ['v'], ['GLN_BROKER_UNREACHABLE']]);
    await broker.close();
  });

  test.serial('after an outage longer than ten attempts of the client it reconnects', async (t) => {
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
  });

  test.serial(
    'twenty lost connections leave no consumer behind, and the watch still works',
    async (t) => {
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
    },
  );

  test.serial(
    'a server with an empty store gets its buckets again, and old values are deleted',
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

  test.serial(
    'a blocked server costs bounded memory: the oldest messages are dropped',
    async (t) => {
      const server = new RealServer();
      t.teardown(() => server.remove());
      await server.up();
      const broker = new NatsBroker({
        servers: [server.url],
        name: 'backlog',
        backlogBytes: 1_000_000,
      });
      await until(() => broker.connected, 'connected');
      const listener = await server.connect('listener');
      const received: number[] = [];
      listener.subscribe('flood', (message) => received.push(Number(textOf(message.data))));
      await listener.flush();
      process.kill(server.pid, 'SIGSTOP');
      t.teardown(() => process.kill(server.pid, 'SIGCONT'));
      const numbered = (i: number): Uint8Array => bytes(String(i).padStart(1000, '0'));
      for (let i = 0; i < 20_000; i++) t.true(broker.publish('flood', numbered(i)));
      // 1064 bytes count for each message. An eighth of the backlog is on its way: 125,000 / 1064,
      // 117; in the rest 822 wait.
      t.is(broker.counters.published, 117);
      t.is(broker.counters.droppedBacklog + broker.counters.droppedStalled, 20_000 - 117 - 822);
      t.is(broker.counters.droppedStalled, 0, 'it was not away for long');
      process.kill(server.pid, 'SIGCONT');
      await until(() => received.at(-1) === 19_999, 'the newest has come');
      t.deepEqual(received, [
        ...Array(117).keys(),
        ...Array.from({ length: 822 }, (_, i) => 20_000 - 822 + i),
      ]);
      await broker.close();
    },
  );

  test.serial(
    'a dead server is distinguished from a slow one, and urgent messages go first',
    async (t) => {
      const server = new RealServer();
      t.teardown(() => server.remove());
      await server.up();
      const clock = new ManualTime();
      const broker = new NatsBroker({
        servers: [server.url],
        name: 'stalled',
        backlogBytes: 80_000,
        clock,
      });
      t.teardown(() => broker.close());
      await until(() => broker.connected, 'connected');
      const listener = await server.connect('listener');
      const received: string[] = [];
      listener.subscribe('flood', (message) => received.push(textOf(message.data).trim()));
      await listener.flush();
      process.kill(server.pid, 'SIGSTOP');
      t.teardown(() => process.kill(server.pid, 'SIGCONT'));
      const flood = (from: number, count: number): void => {
        for (let i = from; i < from + count; i++)
          broker.publish('flood', bytes(String(i).padEnd(936)));
      };
      // 1000 bytes count for each: 10 are on their way, 70 wait, 20 are dropped.
      flood(0, 100);
      t.like(broker.counters, { published: 10, droppedBacklog: 20, droppedStalled: 0 });
      clock.advance(millis(5000));
      flood(100, 30);
      t.like(broker.counters, { droppedBacklog: 20, droppedStalled: 30 });
      t.true(broker.publish('flood', bytes('answer'), { urgent: true }));
      process.kill(server.pid, 'SIGCONT');
      await until(() => received.at(-1) === '129', 'the newest has come');
      // 0 to 9, the answer, then the newest 70: 60 to 129.
      t.deepEqual(
        received,
        [...Array(10).keys()].map(String).concat(
          'answer',
          Array.from({ length: 70 }, (_, i) => String(60 + i)),
        ),
      );
    },
  );

  test.serial('the heartbeat of a bucket reads the changes that no notice showed', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    const config = join(server.directory, 'deaf.conf');
    // The watcher gets no notice of one key.
    writeFileSync(
      config,
      `authorization { users = [
        { user: writer, password: secret }
        { user: watcher, password: secret, permissions: { subscribe: { deny: ["$KV.busy.x"] } } }
      ] }`,
    );
    await server.up(['-c', config]);
    const time = new ManualTime();
    const by = (user: string) => ({ servers: [server.url], name: user, user, password: 'secret' });
    const writer = new NatsBroker(by('writer'));
    const watcher = new NatsBroker({ ...by('watcher'), timers: time });
    t.teardown(() => Promise.all([writer.close(), watcher.close()]));
    const admin = await connect({ servers: server.url, user: 'writer', pass: 'secret' });
    t.teardown(() => admin.close());
    let seen = 0;
    admin.subscribe('$JS.API.STREAM.MSG.GET.KV_busy', {
      callback: () => {
        seen++;
      },
    });
    /** Since the last time; the server queues a request here before it answers it. */
    const reads = async (): Promise<number> => {
      await admin.flush();
      const count = seen;
      seen = 0;
      return count;
    };
    await until(() => writer.connected && watcher.connected, 'connected');
    const bucket = writer.keyValue('busy');
    for (let i = 0; i < 100; i++) await bucket.put(`k${i}`, bytes('0'));
    const values = new Map<string, string | null>();
    const watch = watcher
      .keyValue('busy')
      .watch(({ key, value }) => values.set(key, value && textOf(value)));
    await watch.ready;
    t.is(values.size, 100);
    await reads();
    const put = async (round: number): Promise<void> => {
      const keys = Array.from({ length: 10 }, (_, i) => `k${i}`);
      for (const key of keys) await bucket.put(key, bytes(String(round)));
      // Of each key: a revision that is replaced before it is read would be read by the heartbeat.
      const all = () => keys.every((key) => values.get(key) === String(round));
      await until(all, 'the notices have come');
    };
    const heartbeat = async (): Promise<void> => {
      time.advance(millis(5000));
      await time.settled();
    };
    await put(1);
    await put(2);
    await bucket.put('x', bytes('unnoticed'));
    await put(3);
    t.is(values.get('x'), undefined);
    t.is(await reads(), 30, 'one of each notice');
    await heartbeat();
    t.is(values.get('x'), 'unnoticed');
    t.is(await reads(), 1);
    await bucket.delete('x');
    await put(4);
    t.is(await reads(), 10);
    await heartbeat();
    t.is(values.get('x'), null);
    t.is(await reads(), 1);
    await heartbeat();
    t.is(await reads(), 0, 'nothing has changed');
    await bucket.put('k0', bytes('5'));
    await until(() => values.get('k0') === '5', 'one more');
    t.is(await reads(), 1);
  });

  test.serial('notices of a bucket are back after a reload that allows them again', async (t) => {
    const directory = temporaryFolder('reload');
    const config = join(directory, 'nats.conf');
    const port = await freePort();
    const write = (denied: string): void =>
      writeFileSync(
        config,
        `listen: "127.0.0.1:${port}"
        jetstream { store_dir: "${directory}/js" }
        authorization { users = [
          { user: writer, password: secret }
          { user: hook, password: secret, permissions: { subscribe: { deny: ["${denied}"] } } }
        ] }`,
      );
    write('none');
    // Without the arguments of RealServer: they keep JetStream out of reloads.
    const server = spawn(NATS_BINARY, ['-c', config], { stdio: 'ignore' });
    t.teardown(() => server.kill('SIGKILL'));
    const time = new ManualTime();
    const by = (user: string) => ({
      servers: [`nats://127.0.0.1:${port}`],
      name: user,
      user,
      password: 'secret',
    });
    const writer = new NatsBroker(by('writer'));
    const hook = new NatsBroker({ ...by('hook'), timers: time });
    t.teardown(() => Promise.all([writer.close(), hook.close()]));
    await until(() => writer.connected, 'the writer is connected');
    // The hook's first attempt came before the server, and time stands still for it.
    await until(() => {
      time.advance(millis(500));
      return hook.connected;
    }, 'the hook is connected');
    const bucket = writer.keyValue('mode');
    let value = '';
    const watch = hook.keyValue('mode').watch((entry) => {
      value = textOf(entry.value);
    });
    await watch.ready;
    await bucket.put('global', bytes('1'));
    await until(() => value === '1', 'by a notice');
    write('$KV.mode.>');
    server.kill('SIGHUP');
    await until(() => hook.refusedSubjects.length > 0, 'refused');
    t.deepEqual(hook.refusedSubjects, ['$KV.mode.>']);
    await bucket.put('global', bytes('2'));
    await hook.flush();
    t.is(value, '1');
    write('none');
    server.kill('SIGHUP');
    await until(() => {
      time.advance(millis(15_000));
      return hook.refusedSubjects.length === 0;
    }, 'accepted');
    time.advance(millis(5000));
    await until(() => value === '2', 'by a heartbeat');
    await hook.flush();
    await bucket.put('global', bytes('3'));
    await until(() => value === '3', 'by a notice again');
    t.pass();
  });

  test.serial('the cause of a lost connection is reported, also to a later listener', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const broker = await server.connect();
    const errorsOf = (): string[] => {
      const lines: string[] = [];
      broker.onStatus((status) => {
        if (status.kind === 'error') lines.push(`${status.error.code} ${status.error.message}`);
      });
      return lines;
    };
    const errors = errorsOf();
    await server.down();
    const refused = `GLN_BROKER_UNREACHABLE cannot reach ${server.url}: connection refused`;
    await until(() => errors.length > 0, 'the cause');
    // Two more attempts, each after at most 500 ms.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    t.deepEqual(errors, [refused]);
    const later = errorsOf();
    await until(() => later.length > 0, 'the same cause');
    t.deepEqual(later, [refused]);
    await server.up();
    await until(() => broker.connected, 'reconnected');
    const none = errorsOf();
    await broker.flush();
    t.deepEqual(none, []);
  });

  test.serial('a refused client is distinguished from a missing server', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    const config = join(server.directory, 'auth.conf');
    const pair = nkeys.createUser();
    writeFileSync(
      config,
      `authorization { users = [
        { user: reader, password: secret,
          permissions: { publish: ["_INBOX.>", "$JS.API.>"], subscribe: [">"] } }
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
    const wrongPasswordClient = new NatsBroker({
      servers: [server.url],
      name: 's',
      user: 'reader',
      password: 'wrong',
    });
    const refused = codesOf(wrongPasswordClient);
    await until(() => refused.length > 0, 'refusal');
    t.regex(refused[0]!, /^GLN_BROKER_AUTH /);
    await wrongPasswordClient.close();

    const reader = new NatsBroker({
      servers: [server.url],
      name: 'r',
      user: 'reader',
      password: 'secret',
    });
    const forbidden = codesOf(reader);
    await until(() => reader.connected, 'connected');
    reader.publish(subjects.meanField, bytes('{}'));
    await until(() => forbidden.length > 0, 'violation');
    t.regex(forbidden[0]!, /^GLN_BROKER_AUTH .*gleaner\.v1\.meanfield/);
    // Messages of one kind are refused for one cause, whatever their functions.
    for (let i = 0; i < 20; i++) reader.publish(subjects.target(`/guest/f${i}`), bytes('{}'));
    reader.publish('gleaner.v1.other', bytes('{}'));
    await until(() => forbidden.some((line) => line.includes('v1.other')), 'the last violation');
    t.is(forbidden.filter((line) => line.includes('gleaner.v1.target')).length, 1);
    t.is(forbidden.length, 3);
    await reader.close();

    const seedFile = join(server.directory, 'user.seed');
    writeFileSync(seedFile, new TextDecoder().decode(pair.getSeed()), { mode: 0o600 });
    const right = new NatsBroker({ servers: [server.url], name: 'n', credentialsFile: seedFile });
    await until(() => right.connected, 'nkey accepted');
    await right.close();
  });

  test.serial('subscriptions that a reload refuses are back after one that allows', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    const config = join(server.directory, 'reload.conf');
    const write = (denied: string): void =>
      writeFileSync(
        config,
        `authorization { users = [
          { user: writer, password: secret }
          { user: hook, password: secret, permissions: { subscribe: { deny: [${denied}] } } }
        ] }`,
      );
    const reload = (denied: string): void => {
      write(denied);
      process.kill(server.pid, 'SIGHUP');
    };
    write('"none"');
    await server.up(['-c', config]);
    const by = (user: string) => ({ servers: [server.url], name: user, user, password: 'secret' });
    const writer = new NatsBroker(by('writer'));
    const hook = new NatsBroker({ ...by('hook'), refusedRetryInterval: millis(200) });
    t.teardown(() => Promise.all([writer.close(), hook.close()]));
    const errors: string[] = [];
    hook.onStatus((status) => {
      if (status.kind === 'error') errors.push(status.error.message);
    });
    await until(() => writer.connected && hook.connected, 'connected');
    let seen = 0;
    hook.subscribe('gleaner.v1.target.*', () => seen++);
    const service = serve(hook, {
      name: 'test',
      version: '1.0.0',
      description: 'test',
      host: 'one',
      endpoints: { echo: { description: 'test', handle: (request) => request } },
    });
    t.teardown(() => service.stop());
    await hook.flush();
    const ask = () => callService(writer, { service: 'test', endpoint: 'echo', request: 7 });
    t.is(await ask(), 7);

    reload('"gleaner.v1.target.*", "gleaner.v1.svc.>", "$SRV.>"');
    await until(() => hook.refusedSubjects.length > 10, 'all are refused');
    t.true(hook.refusedSubjects.includes('gleaner.v1.target.*'));
    await t.throwsAsync(ask);
    // Refused again at each try, and reported once a minute.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    t.true(hook.refusedSubjects.includes('$SRV.PING'));
    t.is(errors.filter((line) => line.includes('gleaner.v1.target')).length, 1);
    const before = seen;
    writer.publish('gleaner.v1.target.a', bytes('lost'));
    await writer.flush();
    t.is(seen, before);

    reload('"none"');
    await until(() => hook.refusedSubjects.length === 0, 'all are accepted');
    writer.publish('gleaner.v1.target.a', bytes('back'));
    await until(() => seen === before + 1, 'once');
    t.is(await ask(), 7);
    await writer.flush();
    t.is(seen, before + 1);
  });

  test.serial(
    'without JetStream stores report it, and an aggregator still publishes',
    async (t) => {
      const server = new RealServer();
      t.teardown(() => server.remove());
      const config = join(server.directory, 'nojs.conf');
      writeFileSync(
        config,
        'accounts { A { users = [ { user: a, password: a } ] } }\nno_auth_user: a\n',
      );
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
      t.teardown(() => aggregator.stop());
      await until(() => fields >= 2, 'two mean fields');
      t.pass();
      await broker.close();
    },
  );
}
