import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { collected, until } from '../support/gleaner.js';

/** A part whose `start` is this expression, in a process of its own. */
function part(start: string) {
  const module = pathToFileURL('dist/runtime/child.js').href;
  const script = `
    setInterval(() => undefined, 1000);
    const { runAsProcess } = await import('${module}');
    const never = new Promise(() => undefined);
    const systemd = Object.fromEntries(
      ['ready', 'reloading', 'stopping'].map((state) => [state, () => console.log(state)]),
    );
    await runAsProcess(async () => {
      console.log('starts');
      return (${start});
    }, systemd);
    console.log('runs');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { child, ...collected(child) };
}

for (const [what, start, said] of [
  ['start', 'await never', 'starts'],
  ['stop', '{ stopMillis: 500, stop: () => never }', 'runs'],
] as const)
  test(`a part whose ${what} never ends ends by itself after SIGTERM, and says so`, async (t) => {
    const { child, output, ended } = part(start);
    t.teardown(() => child.kill('SIGKILL'));
    await until(() => output().includes(said), 20_000, 'it has begun');
    child.kill('SIGTERM');
    await until(() => child.exitCode !== null, 20_000, 'it has ended');
    t.is(await ended, 1);
    t.regex(
      output(),
      new RegExp(`gleaner: the ${what} has not ended within [\\d.]+ s of the signal`),
    );
  });

test('a stop that is asked for during the start is made when that has ended', async (t) => {
  const stopped = `{ stop: async () => console.log('stopped') }`;
  const { child, output, ended } = part(
    `await new Promise((done) => process.on('SIGTERM', () => setTimeout(done, 50))), ${stopped}`,
  );
  t.teardown(() => child.kill('SIGKILL'));
  await until(() => output().includes('starts'), 20_000, 'it has begun');
  child.kill('SIGTERM');
  t.is(await ended, 0);
  t.regex(output(), /stopped/);
});

test('the kill switch and a reload that are asked for during the start follow it', async (t) => {
  const { child, output } = part(`
    await new Promise((done) => process.on('SIGUSR2', () => setTimeout(done, 50))),
    {
      stop: async () => undefined,
      reload: () => console.log('reloads'),
      kill: () => console.log('kills'),
    }`);
  t.teardown(() => child.kill('SIGKILL'));
  await until(() => output().includes('starts'), 20_000, 'it has begun');
  child.kill('SIGHUP');
  await new Promise((done) => setTimeout(done, 50));
  child.kill('SIGUSR2');
  await until(() => output().includes('runs'), 20_000, 'it runs');
  // Not ready before it is, also for systemd.
  t.deepEqual(output().trim().split('\n'), [
    'starts',
    'ready',
    ...['reloading', 'reloads', 'ready'],
    'kills',
    'runs',
  ]);
});
