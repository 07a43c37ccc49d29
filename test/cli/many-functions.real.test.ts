import test from 'ava';
import { natsServerHere, RealServer } from '../broker/contract/server.js';
import { SyntheticGleaner } from '../dashboard/synthetic.js';
import { gleaner } from '../support/gleaner.js';

/** More than a page of a hook (800) and of an agent host (1000). */
const FUNCTIONS = 1100;

if (natsServerHere()) {
  test('commands know every function of a host', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const many = new SyntheticGleaner(await server.connect(), FUNCTIONS);
    many.start();
    t.teardown(() => many.stop());
    const run = async (...args: string[]) => {
      const { code, out, err } = await gleaner(['--nats', server.url, ...args]);
      t.is(code, 0, err);
      return out;
    };
    const json = async (...args: string[]) => JSON.parse(await run(...args, '--output', 'json'));
    const last = many.names.at(-1)!;

    t.is((await json('functions')).length, FUNCTIONS);
    many.inspected.length = 0;
    t.like(await json('functions', last), [{ name: last, mode: 'enforce' }]);
    t.deepEqual(many.inspected, [1], 'a full name needs one function');
    t.like(await json('functions', 'fn-1099'), [{ name: last }]);
    const none = await gleaner(['--nats', server.url, 'functions', '/guest/shop/fn-1100']);
    t.regex(none.err, /know no function/);
    t.is((await json('status')).hosts[0].functions.length, FUNCTIONS);
    t.is((await json('top', '--once')).functions.length, FUNCTIONS);
    t.is((await json('agents', 'list'))[0].functions.length, FUNCTIONS);
    many.paused.add(last);
    t.like(await json('mode', '--function', last), {
      hosts: [{ functionMode: 'enforce', paused: true }],
    });
    t.regex(await run('mode', '--function', last), /enforce \(paused\)/);
  });
}
