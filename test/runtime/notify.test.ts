import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { millis } from '../../config/index.js';
import { SystemdNotifier } from '../../runtime/index.js';
import { until } from '../support/gleaner.js';
import { ManualTime } from '../support/manual-time.js';

/** A notifier of a service with `WatchdogSec=60`, and what its `systemd-notify` was given. */
function notifier(t: ExecutionContext): {
  clock: ManualTime;
  systemd: SystemdNotifier;
  sent: () => string[];
} {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-notify-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const out = join(folder, 'sent');
  writeFileSync(out, '');
  const program = join(folder, 'systemd-notify');
  writeFileSync(program, `#!/bin/sh\necho "$1" >> ${out}\n`);
  chmodSync(program, 0o755);
  const clock = new ManualTime();
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    NOTIFY_SOCKET: join(folder, 'socket'),
    WATCHDOG_USEC: '60000000',
  };
  const systemd = SystemdNotifier.from(env, clock)!;
  return { clock, systemd, sent: () => readFileSync(out, 'utf8').split('\n').slice(0, -1) };
}

test('a loop with long steps gets a watchdog of three steps', async (t) => {
  const { clock, systemd, sent } = notifier(t);
  systemd.expectSteps(120_000);
  systemd.ready('running');
  for (let step = 0; step < 2; step++) {
    clock.advance(millis(120_000));
    systemd.beat();
  }
  await until(() => sent().length >= 5, 10_000, 'five messages');
  t.deepEqual(sent(), [
    // 3 x 120 s, in microseconds.
    'WATCHDOG_USEC=360000000',
    'READY=1',
    'STATUS=running',
    'WATCHDOG=1',
    'WATCHDOG=1',
  ]);
});

test('a loop that pings often enough keeps the watchdog of its unit', async (t) => {
  const { systemd, sent } = notifier(t);
  systemd.expectSteps(20_000);
  systemd.ready('running');
  await until(() => sent().length >= 2, 10_000, 'ready');
  t.deepEqual(sent(), ['READY=1', 'STATUS=running']);
});
