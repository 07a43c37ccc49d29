import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { buckets } from '../../broker/index.js';
import { decodeMode } from '../../broker/messages/index.js';
import { natsServerHere, RealServer } from '../broker/contract/server.js';
import { gleaner, until } from '../support/gleaner.js';
import { hookOn } from '../support/hook-on-nats.js';
import { Admin, startWithStore } from '../support/small-store.js';

/**
 * Mode, pause and kill switch take effect, and each command says that it is not stored, why, and
 * what to do, and fails.
 */
async function actsWithoutStoring(
  t: ExecutionContext,
  server: RealServer,
  cause: RegExp,
): Promise<void> {
  const { rig, host, cli } = await hookOn(t, server);
  t.is(host().mode, 'enforce');
  const mode = await cli('mode', 'observe', '--store-for', '0');
  t.is(host().mode, 'observe', mode.err);
  t.is(mode.code, 1);
  t.regex(
    mode.err,
    /gleaner: in force on 1 host but not stored: .* \[GLN_MODE_NOT_STORED\]\n {2}hooks that start/,
  );
  t.regex(mode.err, cause);

  const held = await cli('restore', '--hold', '--all', '--store-for', '0', '--output', 'json');
  t.deepEqual([host().killed, host().killedBy], [true, ['service']], held.err);
  t.is(held.code, 1);
  t.like(JSON.parse(held.out), { held: true, inForce: ['host-a'], stored: false });
  const released = await cli('restore', '--release', '--all', '--store-for', '0');
  t.false(host().killed, released.err);

  const one = await cli('restore', '--hold', '--host', 'host-a');
  t.true(host().killed, 'one host needs no store');
  t.is(one.code, 0, one.err);
  await cli('restore', '--release', '--host', 'host-a');
  t.false(host().killed);

  const container = rig.container({ quota: 1000 });
  container.call(20, 300);
  const paused = await cli('pause', '/guest/hello', '--store-for', '0');
  t.is(paused.code, 1);
  t.regex(paused.err, /in force on 1 host but not stored/);
  const { functions } = rig.hook.inspect({ containers: 0 } as never) as {
    functions: { paused: boolean }[];
  };
  t.true(functions[0]?.paused);
}

if (natsServerHere()) {
  test.serial('mode, pause and kill switch work with a full store, and report it', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await startWithStore(server);
    // Gleaner's bucket is there; another program has taken the rest of the store.
    const first = await server.connect();
    await first.keyValue(buckets.mode).put('function.x', new Uint8Array(1));
    const admin = await Admin.connect(server);
    t.teardown(() => admin.close());
    await admin.fill();
    await actsWithoutStoring(t, server, /the store is full: .*JetStream error 10\d{3}/);
  });

  test.serial('mode, pause and kill switch work without JetStream, and report it', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    const file = join(server.directory, 'nojs.conf');
    writeFileSync(
      file,
      'accounts { A { users = [ { user: a, password: a } ] } }\nno_auth_user: a\n',
    );
    await server.up(['-c', file]);
    await actsWithoutStoring(t, server, /JetStream is not enabled for this account/);
    const explained = await gleaner(['--nats', server.url, 'explain', '/guest/hello']);
    t.notRegex(explained.err, /stored mode/, 'nothing can be stored');
  });

  test.serial('explain says that it may not read the stored mode', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    const file = join(server.directory, 'denied.conf');
    const denied = ['DIRECT.GET.KV_gleaner_mode.>', 'STREAM.MSG.GET.KV_gleaner_mode'];
    const subjects = denied.map((one) => `"$JS.API.${one}"`).join(', ');
    const user = `{ user: a, password: a, permissions: { publish: { deny: [${subjects}] } } }`;
    writeFileSync(file, `authorization { users = [ ${user} ] }\nno_auth_user: a\n`);
    await server.up(['-c', file]);
    const { rig, cli } = await hookOn(t, server);
    rig.container({ quota: 1000 }).call(20, 300);
    const { out, err } = await cli('explain', '/guest/hello');
    t.regex(err, /^gleaner: cannot read the stored mode of \/guest\/hello: .*\n {2}/);
    t.regex(out, /^\/guest\/hello on host-a$/m, 'the rest is shown');
  });

  test.serial(
    'a mode applies at once, and is stored as soon as the bucket accepts it',
    async (t) => {
      const server = new RealServer();
      t.teardown(() => server.remove());
      await server.up();
      const { broker, host, cli } = await hookOn(t, server);
      const set = await cli('mode', 'recommend');
      t.is(set.code, 0, set.err);
      t.is(host().mode, 'recommend');
      const admin = await Admin.connect(server);
      t.teardown(() => admin.close());
      await admin.refuseChanges(buckets.mode);

      const refused = await cli('mode', 'observe', '--store-for', '0');
      t.is(refused.code, 1);
      t.regex(refused.err, /JetStream error 10077/);
      t.is(host().mode, 'observe');

      const waiting = cli('mode', 'observe', '--store-for', '60', '--output', 'json');
      await until(() => broker.stores.states().length > 0, 5000, 'the hook reads');
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await admin.allowChanges(buckets.mode);
      const stored = await waiting;
      t.is(stored.code, 0, stored.err);
      t.like(JSON.parse(stored.out), { stored: true, inForce: ['host-a'] });
      const entry = await broker.keyValue(buckets.mode).get('global');
      const decoded = decodeMode(entry!.value!);
      t.true(decoded.ok && decoded.message.mode === 'observe');
    },
  );

  test.serial('a change that no hook answers is stored, and fails', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const cli = (...args: string[]) => gleaner(['--nats', server.url, ...args]);
    for (const [args, line] of [
      [['mode', 'observe'], 'all functions: observe (in force on no host)\n'],
      [['pause', '/guest/hello'], '/guest/hello: paused (in force on no host)\n'],
      [['resume', '/guest/hello'], '/guest/hello: managed again (in force on no host)\n'],
      [['restore', '--hold', '--all'], ''],
    ] as const) {
      const { code, out, err } = await cli(...args);
      t.is(code, 1, args.join(' '));
      if (line !== '') t.is(out, line);
      t.regex(
        err,
        /^gleaner: stored, but in force on no host: no hook answers \[GLN_MODE_NO_HOOK\]/,
      );
      t.regex(err, /`gleaner restore --hold` on its host/);
    }
    const held = await cli('restore', '--hold', '--all', '--output', 'json');
    t.like(JSON.parse(held.out), { held: true, hosts: [], inForce: [], stored: true });
  });
}
