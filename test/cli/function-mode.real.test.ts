import test from 'ava';
import { natsServerHere, RealServer } from '../broker/contract/server.js';
import { hookOn } from '../support/hook-on-nats.js';

if (natsServerHere()) {
  test.serial('a pause or mode of an unknown function is stored, noted and listed', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const { rig, cli } = await hookOn(t, server);
    rig.container({ quota: 1000 }).call(20, 300);

    const known = await cli('pause', '/guest/hello');
    t.deepEqual([known.code, known.err], [0, '']);
    const paused = await cli('pause', '/guest/typo');
    t.is(paused.code, 0);
    t.regex(paused.err, /^gleaner: no hook has seen \/guest\/typo yet\n {2}/);
    const set = await cli('mode', 'recommend', '--function', '/guest/nope');
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
        ['FUNCTION', 'STORED'],
        ['/guest/hello', 'paused'],
        ['/guest/nope', 'recommend'],
        ['/guest/typo', 'paused'],
      ],
    );
    const { functions } = JSON.parse((await cli('mode', '--output', 'json')).out);
    t.deepEqual(functions, [
      { name: '/guest/hello', mode: null, paused: true },
      { name: '/guest/nope', mode: 'recommend', paused: false },
      { name: '/guest/typo', mode: null, paused: true },
    ]);
  });
}
