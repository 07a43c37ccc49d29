import { spawn } from 'node:child_process';
import test, { type ExecutionContext } from 'ava';
import { collected, gleaner, until } from '../support/gleaner.js';
import { silentListener } from '../support/silent-listener.js';

/** Answers a subscription to events with `answer`, as nats-server does. */
async function serverThatAnswers(t: ExecutionContext, answer: string) {
  let subscribed = false;
  const server = await silentListener((socket) => {
    socket.write('INFO {"version":"2.10.0","max_payload":1048576,"proto":1}\r\n');
    socket.on('data', (bytes) => {
      const text = String(bytes);
      if (text.includes('SUB gleaner.v1.event.')) {
        subscribed = true;
        socket.write(answer);
      }
      if (text.includes('PING')) socket.write('PONG\r\n');
    });
  });
  t.teardown(() => server.close());
  return { args: ['--nats', server.url, 'events', '--for', '600'], isSubscribed: () => subscribed };
}

test('a refused subscription is an error, at once', async (t) => {
  const { args } = await serverThatAnswers(
    t,
    `-ERR 'Permissions Violation for Subscription to "gleaner.v1.event.>"'\r\n`,
  );
  const { code, out, err } = await gleaner(args, {}, 30_000);
  t.is(code, 1);
  t.is(out, '');
  t.regex(err, /^gleaner: NATS refuses this client: .*gleaner\.v1\.event\.>.*GLN_BROKER_AUTH/);
});

test('Ctrl-C ends it before its time', async (t) => {
  const { args, isSubscribed } = await serverThatAnswers(t, '');
  const child = spawn(process.execPath, ['dist/cli/main.js', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  const { ended } = collected(child);
  await until(isSubscribed, 20_000, 'it listens');
  child.kill('SIGINT');
  let code: number | null | undefined;
  void ended.then((its) => {
    code = its;
  });
  await until(() => code !== undefined, 10_000, 'it has ended');
  t.is(code, 0);
});
