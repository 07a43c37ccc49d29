import { userInfo } from 'node:os';
import test from 'ava';
import { buckets } from '../../broker/index.js';
import { modeKey } from '../../broker/messages/index.js';
import { natsServerHere, RealServer } from '../broker/contract/server.js';
import { hookOn } from '../support/hook-on-nats.js';

if (natsServerHere()) {
  test.serial('a pause or mode of an unknown function is stored, noted and listed', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const { rig, broker, cli } = await hookOn(t, server);
    rig.container({ quota: 1000 }).call(20, 300);
    const author = `cli:${userInfo().username}`;

    const known = await cli('pause', '/guest/hello');
    t.deepEqual([known.code, known.err], [0, '']);
    const paused = await cli('pause', '/guest/typo');
    t.is(paused.code, 0);
    t.regex(paused.err, /^gleaner: no hook has seen \/guest\/typo yet\n {2}/);
    const set = await cli('mode', 'recommend', '--function', '/guest/nope', '--reason', 'drill');
    t.is(set.code, 0);
    t.regex(set.err, /no hook has seen \/guest\/nope yet/);

    const { out, err } = await cli('mode');
    t.is(err, '');
    t.deepEqual(
      out
        .trimEnd()
        .split('\n')
        .slice(-4)
        .map((line) => line.trim().split(/ +/)),
      [
        ['FUNCTION', 'STORED', 'BY', 'REASON'],
        ['/guest/hello', 'paused', author],
        ['/guest/nope', 'recommend', author, 'drill'],
        ['/guest/typo', 'paused', author],
      ],
    );
    const { functions, global } = JSON.parse((await cli('mode', '--output', 'json')).out);
    t.is(global, null);
    t.deepEqual(functions, [
      { name: '/guest/hello', mode: null, paused: true, author, reason: '' },
      { name: '/guest/nope', mode: 'recommend', paused: false, author, reason: 'drill' },
      { name: '/guest/typo', mode: null, paused: true, author, reason: '' },
    ]);

    const bucket = broker.keyValue(buckets.mode);
    await bucket.put(modeKey('/guest/hello'), Buffer.from('{'));
    const explained = await cli('explain', '/guest/hello');
    t.is(explained.err, '');
    const why = '/guest/hello: paused: its stored mode cannot be read (`gleaner mode`)';
    t.true(explained.out.split('\n').includes(why), explained.out);
    const { stored } = JSON.parse((await cli('explain', '/guest/hello', '-o', 'json')).out);
    const unknown = { mode: null, author: null, reason: null };
    t.deepEqual(stored, { paused: true, unreadable: true, ...unknown });

    const onHost = ['--host', 'host-a', '--reason', 'x'.repeat(600)];
    const one = await cli('restore', '--hold', ...onHost);
    t.is(one.code, 0, one.err);
    t.is((await cli('restore', '--release', ...onHost)).code, 0);
    const held = await cli('restore', '--hold', '--all', '--reason', 'incident 42');
    t.is(held.code, 0, held.err);
    const line = `host-a: kill switch (kv): set by ${author}: incident 42`;
    for (const command of ['mode', 'status'])
      t.true((await cli(command)).out.split('\n').includes(line), command);
    const lines = (await cli('mode')).out.split('\n').map((row) => row.trim().split(/ {2,}/));
    t.deepEqual(
      lines.find(([name]) => name === 'all functions'),
      ['all functions', 'kill switch', author, 'incident 42'],
    );
  });
}
