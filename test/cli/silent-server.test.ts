import test from 'ava';
import { gleaner } from '../support/gleaner.js';
import { silentListener } from '../support/silent-listener.js';
import { allowed } from '../support/slowness.js';

// To `doctor` a server that is away is a warning: its code depends on this host's other checks.
for (const [command, codes] of [
  ['status', [1]],
  ['doctor', [0, 1]],
] as const) {
  test(`\`${command}\` ends although the server accepts and does not answer`, async (t) => {
    const server = await silentListener();
    t.teardown(() => server.close());
    const { code, out, err } = await gleaner(['--nats', server.url, command], {}, allowed(30_000));
    t.true(codes.some((one) => one === code));
    t.regex(out + err, /cannot reach nats:\/\/127\.0\.0\.1:\d+: no answer/);
    t.is(server.open.size, 0);
  });
}
