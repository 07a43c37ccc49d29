import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import test from 'ava';
import { errorLineOf } from '../../cli/up/log-files.js';
import { EXIT } from '../../config/exit.js';
import { millis, systemTimers } from '../../config/index.js';
import { type ChildSpec, type ChildState, Supervisor } from '../../runtime/supervisor.js';

const START_TIMEOUT = millis(10_000);

function nodeChild(name: string, code: string, rest: Partial<ChildSpec> = {}): ChildSpec {
  return { name, command: process.execPath, args: ['-e', code], channel: true, ...rest };
}

/** Says it is ready, and ends in good order on SIGTERM. */
const GOOD = `
  process.on('SIGTERM', () => { console.log('bye'); process.exit(0); });
  process.send({ ready: true });
  setInterval(() => {}, 1000);`;
/** Is ready, and ignores SIGTERM. */
const IGNORES_SIGTERM = `
  process.on('SIGTERM', () => {});
  process.send({ ready: true });
  setInterval(() => {}, 1000);`;

function recorder() {
  const states: string[] = [];
  const lines: string[] = [];
  const waiting: { text: string; done: () => void }[] = [];
  const listener = {
    log: (child: string, text: string) => void lines.push(`${child}: ${text}`),
    changed: (child: string, state: ChildState) => {
      const text = `${child} ${state}`;
      states.push(text);
      for (const entry of waiting.filter((one) => one.text === text)) entry.done();
    },
  };
  const until = (text: string): Promise<void> =>
    new Promise((done) => waiting.push({ text, done }));
  return { states, lines, listener, until };
}

/** A zombie does not live. */
const lives = (pid: number): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z';
  } catch {
    return false;
  }
};

test('children stop in the reverse of their order, each in good order', async (t) => {
  const { states, lines, listener } = recorder();
  const supervisor = new Supervisor(
    [nodeChild('one', GOOD), nodeChild('two', GOOD)],
    listener,
    systemTimers,
  );
  await supervisor.start(START_TIMEOUT);
  const pids = [supervisor.pidOf('one')!, supervisor.pidOf('two')!];
  await supervisor.stop();
  t.true(states.indexOf('two stopped') < states.indexOf('one stopping'), states.join(', '));
  // A child's last words may be read a moment after its end.
  for (let waited = 0; lines.length < 2 && waited < 5000; waited += 20)
    await new Promise((done) => setTimeout(done, 20));
  t.deepEqual(lines.sort(), ['one: bye', 'two: bye']);
  t.false(pids.some(lives));
});

test('a ready child and what it started have the configured priority', async (t) => {
  const { lines, listener } = recorder();
  const ours = getPriority();
  // One less than ours, which needs no rights.
  const nice = Math.min(19, ours + 1);
  // `/autogroup-17 nice 1`; no such file where the kernel makes none.
  const readyScript = `
    const { spawn } = require('node:child_process');
    const { getPriority } = require('node:os');
    const group = () => {
      try {
        const text = require('node:fs').readFileSync('/proc/self/autogroup', 'utf8');
        return text.split(' ')[2]?.trim() ?? 'none';
      } catch {
        return 'none';
      }
    };
    const idle = 'setInterval(() => {}, 1000)';
    const started = spawn(process.execPath, ['-e', idle], { stdio: 'ignore' });
    const all = () => [getPriority(), getPriority(started.pid), group()].join(' ');
    console.log(getPriority(), getPriority(started.pid));
    const told = setInterval(() => {
      if (!/${nice} ${nice} (${nice}|none)/.test(all())) return;
      console.log(all());
      clearInterval(told);
    }, 20);`;
  const supervisor = new Supervisor(
    [nodeChild('one', `${readyScript}${GOOD}`, { nice })],
    listener,
    systemTimers,
  );
  t.teardown(() => supervisor.stop());
  await supervisor.start(START_TIMEOUT);
  for (let waited = 0; lines.length < 2 && waited < 5000; waited += 20)
    await new Promise((done) => setTimeout(done, 20));
  t.is(lines[0], `one: ${ours} ${ours}`);
  t.regex(String(lines[1]), new RegExp(`^one: ${nice} ${nice} (${nice}|none)$`));
});

test('a killed child is restarted, after what must be done first', async (t) => {
  const { listener, until } = recorder();
  const order: string[] = [];
  const child = nodeChild('hook', GOOD, { afterDeath: async () => void order.push('restored') });
  const supervisor = new Supervisor([child], listener, systemTimers);
  await supervisor.start(START_TIMEOUT);
  const first = supervisor.pidOf('hook')!;
  const again = until('hook ready');
  const died = performance.now();
  process.kill(first, 'SIGKILL');
  const starting = until('hook starting').then(() => order.push('starting'));
  await Promise.all([again, starting]);
  // User limits are back within a second; the rest is margin for a busy machine.
  t.true(performance.now() - died < 5000);
  t.deepEqual(order, ['restored', 'starting']);
  t.not(supervisor.pidOf('hook'), first);
  t.deepEqual(supervisor.restarts(), { hook: 1 });
  await supervisor.stop();
});

test('what a child has started ends with it', async (t) => {
  const code = `
    const { spawn } = require('node:child_process');
    const idle = 'setInterval(() => {}, 1000)';
    const grandchild = spawn(process.execPath, ['-e', idle], { stdio: 'ignore' });
    console.log(grandchild.pid);
    process.send({ ready: true });
    setInterval(() => {}, 1000);`;
  const { lines, listener } = recorder();
  const supervisor = new Supervisor([nodeChild('tap', code)], listener, systemTimers);
  await supervisor.start(START_TIMEOUT);
  while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const grandchild = Number(lines[0]?.split(' ')[1]);
  t.true(lives(grandchild));
  await supervisor.stop();
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.false(lives(grandchild));
});

test('a child that does not listen to SIGTERM is ended all the same', async (t) => {
  const { listener } = recorder();
  const supervisor = new Supervisor(
    [nodeChild('deaf', IGNORES_SIGTERM, { stopMillis: 200 })],
    listener,
    systemTimers,
  );
  await supervisor.start(START_TIMEOUT);
  const pid = supervisor.pidOf('deaf')!;
  await supervisor.stop();
  t.false(lives(pid));
});

test('wrong configuration is told at once, not tried again', async (t) => {
  const wrong = `
    console.error('gleaner: hook.sampleMs: must be at least 10');
    setTimeout(() => process.exit(${EXIT.usage}), 200);`;
  const { listener } = recorder();
  const supervisor = new Supervisor([nodeChild('hook', wrong)], listener, systemTimers);
  const error = await t.throwsAsync(supervisor.start(START_TIMEOUT));
  t.is(error?.message, 'hook did not start: gleaner: hook.sampleMs: must be at least 10');
  await supervisor.stop();
});

test('a program that is not there is one clear error in time', async (t) => {
  const { listener } = recorder();
  const missing: ChildSpec = {
    name: 'nats',
    command: 'no-such-program-here',
    args: [],
    channel: false,
  };
  const supervisor = new Supervisor([missing], listener, systemTimers);
  await t.throwsAsync(supervisor.start(millis(600)), { code: 'GLN_CHILD_NOT_READY' });
  await supervisor.stop();
});

test('a stop before a child was ready ends the wait at once', async (t) => {
  const { listener } = recorder();
  const supervisor = new Supervisor(
    [nodeChild('never', 'setInterval(() => {}, 1000)')],
    listener,
    systemTimers,
  );
  const started = t.throwsAsync(supervisor.start(START_TIMEOUT), {
    message: /stopped before it was ready/,
  });
  const begun = performance.now();
  await supervisor.stop();
  await started;
  // SIGTERM ends a child without a handler; the 10 s that `start` gives are not waited for.
  t.true(performance.now() - begun < 5000);
});

test('a child that never gets ready is refused with the error it told', async (t) => {
  let giveUp = (): void => undefined;
  const timers = {
    ...systemTimers,
    after: (_: unknown, act: () => void) => {
      giveUp = act;
      return () => undefined;
    },
  };
  // Time is over as soon as the child has told its error.
  const listener = { log: () => giveUp(), changed: () => undefined };
  const child = nodeChild(
    'hook',
    "console.error('gleaner: no engine [GLN_X]'); setInterval(() => {}, 1000)",
  );
  const supervisor = new Supervisor([child], listener, timers);
  await t.throwsAsync(supervisor.start(START_TIMEOUT), { message: /no engine \[GLN_X\]/ });
  await supervisor.stop();
});

test('a slow child is waited for, and reported with its last line', async (t) => {
  let check = (): void => undefined;
  const timers = {
    ...systemTimers,
    after: (_: unknown, act: () => void) => {
      check = act;
      return () => undefined;
    },
  };
  const details: string[] = [];
  const listener = {
    // The time is over when it has written its line, and it is ready only after that.
    log: () => {
      check();
      check();
      process.kill(supervisor.pidOf('hook')!, 'SIGUSR2');
    },
    changed: (_: string, state: ChildState, detail: string) => {
      if (state === 'starting' && detail !== '') details.push(detail);
    },
  };
  const slow = `
    process.on('SIGUSR2', () => process.send({ ready: true }));
    console.log('reading the trace');
    setInterval(() => {}, 1000);`;
  const supervisor = new Supervisor([nodeChild('hook', slow)], listener, timers);
  await supervisor.start(START_TIMEOUT);
  t.is(details.length, 2);
  t.regex(details[0] ?? '', /^not ready after \d+ s: reading the trace$/);
  await supervisor.stop();
});

test('a person sees warnings, and why a part cannot start', (t) => {
  t.is(errorLineOf('hook', '{"level":40,"msg":"late"}'), 'hook: late');
  t.is(errorLineOf('hook', '{"level":30,"msg":"fine"}'), null);
  t.is(errorLineOf('hook', 'gleaner: no engine [GLN_X]'), 'hook: no engine [GLN_X]');
  const list = '{"level":50,"msg":"2 problems:\\n  a is wrong\\n  b too"}';
  t.is(errorLineOf('hook', list), 'hook: 2 problems: a is wrong b too');
  t.is(errorLineOf('nats-server', '[1] 2026/11/28 [INF] Starting'), null);
});

test('the cleanup of a child that had to be killed runs before the stop ends', async (t) => {
  const { listener, until } = recorder();
  const cleared: string[] = [];
  // Only the one that has to be killed gets little time: on a busy machine the others need more.
  const spec = (name: string, code: string, stopMillis = 5000): ChildSpec =>
    nodeChild(name, code, {
      stopMillis,
      afterDeath: async () => {
        await new Promise((done) => setTimeout(done, 50));
        cleared.push(name);
      },
    });
  const specs = [spec('deaf', IGNORES_SIGTERM, 100), spec('good', GOOD), spec('dies', GOOD)];
  const supervisor = new Supervisor(specs, listener, systemTimers);
  await supervisor.start(START_TIMEOUT);
  const restarting = until('dies restarting');
  process.kill(supervisor.pidOf('dies')!, 'SIGKILL');
  await restarting;
  t.deepEqual(await supervisor.stop(), []);
  t.deepEqual(cleared.sort(), ['deaf', 'dies']);
});

test('a stop returns what the cleanup of a child could not do', async (t) => {
  const { lines, listener, until } = recorder();
  const afterDeath = () => Promise.reject(new Error('no engine'));
  const specs = [
    nodeChild('deaf', IGNORES_SIGTERM, { stopMillis: 100, afterDeath }),
    // It failed once, and what runs now stops in good order.
    nodeChild('again', GOOD, { afterDeath }),
  ];
  const supervisor = new Supervisor(specs, listener, systemTimers);
  await supervisor.start(START_TIMEOUT);
  const ready = until('again ready');
  process.kill(supervisor.pidOf('again')!, 'SIGKILL');
  await ready;
  t.deepEqual(
    lines.map((line) => errorLineOf('again', line.replace('again: ', ''))),
    ['again: after its end: no engine'],
  );
  t.deepEqual(await supervisor.stop(), ['no engine']);
});

test('a signal to a child that starts, or is away, waits until it is ready', async (t) => {
  const listens = `
    setTimeout(() => {
      process.on('SIGUSR2', () => console.log('kills'));
      process.on('SIGTERM', () => process.exit(0));
      process.send({ ready: true });
    }, 200);
    setInterval(() => {}, 1000);`;
  const { lines, listener, until } = recorder();
  const supervisor = new Supervisor([nodeChild('hook', listens)], listener, systemTimers);
  const heard = async (times: number): Promise<void> => {
    for (let waited = 0; lines.length < times && waited < 5000; waited += 20)
      await new Promise((done) => setTimeout(done, 20));
  };
  supervisor.signalAll('SIGUSR2');
  await supervisor.start(START_TIMEOUT);
  await heard(1);
  t.deepEqual(lines, ['hook: kills']);
  const restarting = until('hook restarting');
  process.kill(supervisor.pidOf('hook')!, 'SIGKILL');
  await restarting;
  supervisor.signalAll('SIGUSR2');
  await heard(2);
  t.deepEqual(lines, ['hook: kills', 'hook: kills']);
  t.deepEqual(supervisor.restarts(), { hook: 1 });
  await supervisor.stop();
});
