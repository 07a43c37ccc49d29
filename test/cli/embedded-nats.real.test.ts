import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import test from 'ava';
import { embeddedNats } from '../../cli/up/nats-server.js';
import { millis, systemTimers } from '../../config/index.js';
import { type ChildState, Supervisor } from '../../runtime/index.js';
import { natsServerHere } from '../broker/contract/server.js';
import { until } from '../support/gleaner.js';
import { temporaryFolder } from '../support/temporary-folder.js';

test('a program that took the port of nats-server is not taken for it', async (t) => {
  if (!natsServerHere()) return t.pass();
  const { spec, port } = embeddedNats('nats-server', temporaryFolder('embedded'), null);
  const states: ChildState[] = [];
  const changed = (_: string, state: ChildState) => void states.push(state);
  const supervisor = new Supervisor([spec], { log: () => undefined, changed }, systemTimers);
  t.teardown(() => supervisor.stop());
  await supervisor.start(millis(20_000));
  const first = port();
  t.true(first > 0);

  process.kill(supervisor.pidOf('nats-server')!, 'SIGKILL');
  await until(() => states.includes('restarting'), 10_000, 'its end');
  const other = createServer((socket) => socket.on('error', () => undefined).end());
  await new Promise<void>((done) => other.listen(first, '127.0.0.1', done));
  states.length = 0;
  const restarts = () => states.filter((state) => state === 'restarting').length;
  await until(() => restarts() >= 2, 20_000, 'two attempts without the port');
  t.false(states.includes('ready'));

  // Clients know the first port.
  await new Promise((done) => other.close(done));
  await until(() => states.includes('ready'), 20_000, 'a server again');
  t.is(port(), first);
});

test('a nats-server that is too old is refused', (t) => {
  const folder = temporaryFolder('embedded');
  const binary = join(folder, 'nats-server');
  const withVersion = (version: string): void => {
    writeFileSync(binary, `#!/bin/sh\necho 'nats-server: v${version}'\n`);
    chmodSync(binary, 0o755);
  };
  withVersion('2.8.4');
  t.throws(() => embeddedNats(binary, folder, null), {
    code: 'GLN_NATS_SERVER_OLD',
    message: /nats-server v2\.8\.4; Gleaner needs 2\.9 or newer/,
  });
  for (const version of ['2.9.0', '2.10.1', '3.0.0']) {
    withVersion(version);
    t.notThrows(() => embeddedNats(binary, folder, null));
  }
});
