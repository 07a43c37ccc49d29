import test from 'ava';
import { natsServerHere, RealServer } from '../broker/contract/server.js';
import { SyntheticGleaner } from '../dashboard/synthetic.js';
import { gleaner } from '../support/gleaner.js';

if (natsServerHere()) {
  test('a watch that begins before a hook answers finds a function by its suffix', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const watch = (suffix: string) =>
      gleaner(['--nats', server.url, 'functions', suffix, '--watch', '--for', '15', '-o', 'json']);
    const [one, none] = [watch('fn-0007'), watch('fn-')];
    await new Promise((done) => setTimeout(done, 5000));
    const few = new SyntheticGleaner(await server.connect(), 10);
    few.start();
    t.teardown(() => few.stop());
    const rows = (await one).out.trim().split('\n');
    t.regex(rows[0] ?? '', /"name":"[^"]*\/fn-0007"/);
    t.true(rows.every((row) => row.includes('/fn-0007"')));
    t.is((await none).out, '');
  });

  test('a watch tells once that no hook answers, and that one has gone silent', async (t) => {
    const server = new RealServer();
    t.teardown(() => server.remove());
    await server.up();
    const watch = gleaner(['--nats', server.url, 'functions', '--watch', '--for', '20']);
    await new Promise((done) => setTimeout(done, 6000));
    const few = new SyntheticGleaner(await server.connect(), 10);
    few.start();
    await new Promise((done) => setTimeout(done, 5000));
    few.stop();
    const { err, out } = await watch;
    // Before the hook answers, and after its announcement has expired or while it is expected.
    t.regex(err, /no hook answers/);
    const lines = err.split('\n').filter((line) => line.startsWith('gleaner: '));
    t.true(lines.length >= 2, err);
    const [none, silent] = [/no hook answers/, /does not answer/].map((text) =>
      lines.filter((line) => text.test(line)),
    );
    t.true((none?.length ?? 0) <= 2 && (silent?.length ?? 0) <= 1, err);
    t.is((none?.length ?? 0) + (silent?.length ?? 0), lines.length, err);
    // A line may come again only because the hook has answered in between.
    t.regex(out, /^FUNCTION.*\n.*fn-0/);
  });
}
