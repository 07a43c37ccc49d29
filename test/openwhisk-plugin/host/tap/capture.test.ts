import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import {
  type Cancel,
  type Millis,
  micros,
  systemTimers,
  type Timers,
} from '../../../../config/index.js';
import { TcpdumpTap } from '../../../../openwhisk-plugin/host/tap/index.js';
import { Capture } from '../../../../openwhisk-plugin/host/tap/tcpdump.js';
import { allowed } from '../../../support/slowness.js';
import { temporaryFolder } from '../../../support/temporary-folder.js';
import { pause, until } from './bridge.js';
import {
  answerOf,
  BEGIN,
  CONTAINER,
  frame,
  INVOKER,
  pcapOf,
  Recorder,
  runBody,
  runRequest,
  type Segment,
} from './packets.js';

function octal(bytes: Buffer): string {
  return [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

// Other hooks may run on this machine: the folders of pipes that are counted here are this file's
// own.
const scratch = temporaryFolder('capture');
// What stands in tcpdump's place runs without rights, as tcpdump does.
chmodSync(scratch, 0o755);
process.env.TMPDIR = scratch;

/** It has nothing to report, and answers that it dropped nothing. */
const ANSWERING =
  `trap 'echo "tcpdump: 0 packets dropped by kernel" >&2' USR1\n` +
  `printf '${octal(pcapOf([]))}'\nwhile :; do sleep 0.02; done`;

/**
 * A program in tcpdump's place: what cannot be provoked with the real one (kernel drops, a stream
 * out of step).
 */
function otherProcess(
  script: string,
  closes = ANSWERING,
  says = "echo 'tcpdump: listening on none0' >&2",
): { path: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'gltap-test-'));
  const path = join(folder, 'tcpdump');
  // Only the capture of heads is immediate.
  const choice = `case "$*" in *--immediate-mode*) ;; *)\n${closes};; esac`;
  writeFileSync(path, `#!/bin/sh\n${says}\n${choice}\n${script}\n`);
  chmodSync(path, 0o755);
  chmodSync(folder, 0o755);
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Real timers, ten times faster. */
const fastTimers: Timers = {
  after: (delay, run) => systemTimers.after((delay / 10) as Millis, run),
  every: (period, run): Cancel => systemTimers.every((period / 10) as Millis, run),
};

/** Three times faster: what is asked for its counters answers in time on a busy machine, too. */
const shortTimers: Timers = {
  after: (delay, run) => systemTimers.after((delay / 3) as Millis, run),
  every: (period, run): Cancel => systemTimers.every((period / 3) as Millis, run),
};

const BRIDGE = { interfaceName: 'none0', networkName: 'none', gateway: '172.17.0.1' };

function framesOf(): Buffer[] {
  const base = {
    source: INVOKER,
    destination: CONTAINER,
    sourcePort: 40000,
    destinationPort: 8080,
  };
  const back = {
    source: CONTAINER,
    destination: INVOKER,
    sourcePort: 8080,
    destinationPort: 40000,
  };
  const request = Buffer.from(runRequest(runBody()));
  const segments: Segment[] = [
    { ...back, sequence: 99, acknowledged: 1000, flags: 18, payload: Buffer.alloc(0) },
    { ...base, sequence: 1000, acknowledged: 100, flags: 24, payload: request },
    {
      ...back,
      sequence: 100,
      acknowledged: 1000 + request.length,
      flags: 24,
      payload: Buffer.from(answerOf()),
    },
  ];
  return segments.map((segment) => frame(segment));
}

const stream = (): Buffer => pcapOf(framesOf());

test('what tcpdump writes becomes requests and answers; its counters become losses', async (t) => {
  const fake = otherProcess(
    `count=0\ntrap 'count=$((count+3)); echo "tcpdump: 9 packets captured, ` +
      `9 packets received by filter, $count packets dropped by kernel" >&2' USR1\n` +
      `printf '${octal(stream())}'\nwhile :; do sleep 0.02; done`,
  );
  const recorder = new Recorder();
  const tap = new TcpdumpTap({ tcpdump: fake.path, timers: shortTimers });
  tap.start(recorder);
  tap.bind(CONTAINER, micros(BEGIN - 1));
  tap.watch([BRIDGE]);
  tap.watch([BRIDGE]);
  await until('the answer', () => recorder.ends === 1);
  t.is(tap.pids.length, 2);
  await until(
    'two losses',
    () => recorder.told.filter((line) => line === 'lost dropped').length === 2,
  );
  t.deepEqual(recorder.told.slice(0, 2), [`run /guest/plain ${runBody().length}`, 'answer 200']);
  await tap.stop();
  t.deepEqual(tap.pids, []);
  fake.remove();
});

/** A capture that answers each signal with the next of these lines, and repeats the last one. */
const answering = (lines: readonly string[]) => {
  const cases = lines.map((text, i) => {
    const number = i + 1 === lines.length ? '*' : i + 1;
    return `${number}) echo "${text}" >&2;;`;
  });
  return otherProcess(
    `n=0\ntrap 'n=$((n+1)); case $n in ${cases.join(' ')} esac' USR1\n` +
      `printf '${octal(stream())}'\nwhile :; do sleep 0.02; done`,
  );
};

test('interface drops and implausible counters are counted and are no loss', async (t) => {
  const counters = 'tcpdump: 9 packets captured, 9 packets received by filter';
  const fake = answering([
    `${counters}, 0 packets dropped by kernel, 40 packets dropped by interface`,
    `${counters}, 4294967295 packets dropped by kernel, 41 packets dropped by interface`,
    `${counters}, -2 packets dropped by kernel, 4294967290 packets dropped by interface`,
    `${counters}, 0 packets dropped by kernel`,
  ]);
  const recorder = new Recorder();
  const tap = new TcpdumpTap({ tcpdump: fake.path, timers: shortTimers });
  tap.start(recorder);
  tap.bind(CONTAINER, micros(BEGIN - 1));
  tap.watch([BRIDGE]);
  await until('all counters', () => recorder.ignored >= 3);
  t.is(recorder.interfaceDrops, 41);
  t.deepEqual(recorder.told, [`run /guest/plain ${runBody().length}`, 'answer 200']);
  t.true(recorder.listens);
  await tap.stop();
  fake.remove();
});

test('after kernel drops the tap listens again when nothing dropped for a second', async (t) => {
  const counters = 'tcpdump: 9 packets captured, 9 packets received by filter';
  const fake = answering([
    `${counters}, 0 packets dropped by kernel`,
    `${counters}, 5 packets dropped by kernel`,
  ]);
  const recorder = new Recorder();
  const tap = new TcpdumpTap({ tcpdump: fake.path, timers: shortTimers });
  tap.start(recorder);
  tap.watch([BRIDGE]);
  await until('the tap listens', () => recorder.listens);
  await until('the loss', () => !recorder.listens);
  const lost = performance.now();
  await until('the tap listens again', () => recorder.listens);
  t.true(performance.now() - lost >= 900);
  t.deepEqual(recorder.told, ['lost dropped']);
  await tap.stop();
  fake.remove();
});

test('a tcpdump that stops answering is lost, and another one is started', async (t) => {
  const fake = otherProcess(
    `trap 'echo "0 packets dropped by kernel" >&2; trap "" USR1' USR1\n` +
      `printf '${octal(stream())}'\nwhile :; do sleep 0.02; done`,
  );
  const recorder = new Recorder();
  const reasons: string[] = [];
  recorder.lost = (reason: string, _bridge?: string | null, detail?: string) =>
    reasons.push(`${reason}: ${detail}`);
  const tap = new TcpdumpTap({ tcpdump: fake.path, timers: fastTimers });
  tap.start(recorder);
  tap.watch([BRIDGE]);
  await until('the loss', () => reasons.length > 0);
  t.is(reasons[0], 'restarted: tcpdump does not answer any more');
  await until('another one', () => tap.listeningOn.length === 1);
  await tap.stop();
  fake.remove();
});

test('what is to be watched while the tap stops, or afterwards, is not', async (t) => {
  const fake = otherProcess(ANSWERING);
  const tap = new TcpdumpTap({ tcpdump: fake.path });
  t.teardown(() => tap.stop());
  tap.start(new Recorder());
  tap.watch([BRIDGE]);
  await until('the tap listens', () => tap.listeningOn.length === 1);
  const stopped = tap.stop();
  // As when a network comes or goes meanwhile.
  tap.watch([BRIDGE]);
  t.deepEqual(tap.listeningOn, []);
  await stopped;
  tap.watch([BRIDGE]);
  // Long enough for a process to start.
  await pause(allowed(300));
  t.deepEqual(tap.pids, []);
  fake.remove();
});

test('a tcpdump that hung is followed by one other, asked for counters or not', async (t) => {
  const fake = otherProcess(
    `trap 'echo "0 packets dropped by kernel, 1 packet dropped by ` +
      `interface" >&2; trap "" USR1' USR1\nprintf '${octal(stream())}'\n` +
      'while :; do sleep 0.02; done',
  );
  const restarts: (() => void)[] = [];
  const timers: Timers = {
    ...systemTimers,
    after: (delay, run) => {
      if (delay >= 1000) return systemTimers.after(delay, run);
      restarts.push(run);
      return () => undefined;
    },
  };
  const { capture, ends, answers } = await listening({ tcpdump: fake.path }, timers);
  t.teardown(() => capture.stop());
  capture.askForDrops();
  await until('its first answer', () => answers() === 1);
  for (let asked = 0; asked <= 10; asked++) capture.askForDrops();
  t.deepEqual(ends, ['tcpdump does not answer any more']);
  restarts.pop()!();
  // The other one is not there yet.
  capture.askForDrops();
  t.is(ends.length, 1);
  t.is(restarts.length, 0);
  await until('the other one', () => capture.pid !== null);
  await capture.stop();
  fake.remove();
});

/** A capture of heads that listens, with the reasons of its ends and how often it was answered. */
async function listening(
  more: { tcpdump: string; namespaceOf?: number },
  timers: Timers = systemTimers,
) {
  let isReady = false;
  let answers = 0;
  const ends: string[] = [];
  const capture = new Capture('none0', { port: 8080, kind: 'heads', ...more }, timers, {
    packet: () => undefined,
    listening: () => {
      isReady = true;
    },
    ended: (_unavailable, detail) => ends.push(detail),
    dropped: () => undefined,
    counted: () => {
      answers++;
    },
  });
  capture.start();
  await until('it listens', () => isReady);
  return { capture, ends, answers: () => answers };
}

test('a tcpdump that does not handle signals yet is not asked for its counters', async (t) => {
  // It says that it listens after the head of its file, and handles signals just before.
  const fake = otherProcess(
    `printf '${octal(stream())}'\nsleep 0.3\ntrap 'echo "7 packets dropped by interface" >&2' ` +
      `USR1\necho 'tcpdump: listening on none0' >&2\nwhile :; do sleep 0.02; done`,
    ANSWERING,
    '',
  );
  const { capture, ends, answers } = await listening({ tcpdump: fake.path });
  await until('an answer', () => {
    capture.askForDrops();
    return answers() > 0;
  });
  t.deepEqual(ends, []);
  await capture.stop();
  fake.remove();
});

test('the heads of a pod are lost after ten unanswered requests', async (t) => {
  // The pod's network is this process's own, entered without privileges.
  const folder = mkdtempSync(join(tmpdir(), 'gltap-test-'));
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, 'nsenter'), '#!/bin/sh\nshift\nexec "$@"\n', { mode: 0o755 });
  process.env.PATH = `${folder}:${process.env.PATH ?? ''}`;
  const fake = otherProcess(
    `trap 'echo "0 packets dropped by kernel, 1 packet dropped by interface" >&2; trap "" USR1' ` +
      `USR1\nprintf '${octal(stream())}'\nwhile :; do sleep 0.02; done`,
  );
  const { capture, ends, answers } = await listening({
    tcpdump: fake.path,
    namespaceOf: process.pid,
  });
  capture.askForDrops();
  await until('its first answer', () => answers() === 1);
  for (let asked = 0; asked < 10; asked++) capture.askForDrops();
  t.deepEqual(ends, []);
  capture.askForDrops();
  t.deepEqual(ends, ['tcpdump does not answer any more']);
  await capture.stop();
  fake.remove();
});

const EMPTY = octal(pcapOf([]));
const FAILING_CLOSES = {
  ends: {
    script: `printf '${EMPTY}'\nsleep 0.1\nexit 0`,
    detail: 'tcpdump ended (code 0)',
  },
  drops: {
    script:
      `count=0\ntrap 'count=$((count+3)); echo "$count packets dropped by kernel" >&2' USR1\n` +
      `printf '${EMPTY}'\nwhile :; do sleep 0.02; done`,
    detail: 'the kernel dropped 3 packets',
  },
  hangs: {
    script:
      `trap 'echo "0 packets dropped by kernel" >&2; trap "" USR1' USR1\n` +
      `printf '${EMPTY}'\nwhile :; do sleep 0.02; done`,
    detail: 'tcpdump does not answer any more',
  },
};

for (const [what, { script, detail }] of Object.entries(FAILING_CLOSES))
  test(`a capture of closes that ${what} is reported, and connections stay trusted`, async (t) => {
    const frames = framesOf();
    // Without the head of the file.
    const rest = pcapOf(frames.slice(1)).subarray(24);
    const folder = mkdtempSync(join(tmpdir(), 'gltap-test-'));
    chmodSync(folder, 0o755);
    const marker = join(folder, 'go-on');
    const fake = otherProcess(
      `trap 'echo "tcpdump: 0 packets dropped by kernel" >&2' USR1\n` +
        `printf '${octal(pcapOf(frames.slice(0, 1)))}'\n` +
        `while [ ! -e ${marker} ]; do sleep 0.02; done\n` +
        `printf '${octal(rest)}'\nwhile :; do sleep 0.02; done`,
      script,
    );
    const recorder = new Recorder();
    const reasons: string[] = [];
    recorder.lost = (reason: string, _bridge?: string | null, text?: string) =>
      reasons.push(`${reason}: ${text}`);
    const tap = new TcpdumpTap({ tcpdump: fake.path, timers: shortTimers });
    t.teardown(() => tap.stop());
    tap.start(recorder);
    tap.bind(CONTAINER, micros(BEGIN - 1));
    tap.watch([BRIDGE]);
    await until('it listens', () => recorder.listens);
    await until('the loss', () => reasons.length > 0);
    writeFileSync(marker, '');
    // Only a connection whose start is remembered is trusted.
    await until('the answer', () => recorder.ends === 1);
    t.is(reasons[0], `closes: ${detail}`);
    t.true(reasons.every((reason) => reason.startsWith('closes: ')));
    await until('another one', () => tap.listeningOn.length === 1);
    fake.remove();
  });

test('pods above the largest number of captures are reported once, until one ends', async (t) => {
  const recorder = new Recorder();
  const refused: (string | null)[] = [];
  recorder.lost = (_reason: string, name?: string | null, detail?: string) => {
    if (detail === '64 pods are captured already') refused.push(name ?? null);
  };
  const tap = new TcpdumpTap({ tcpdump: '/nonexistent/tcpdump' });
  tap.start(recorder);
  // No process has this id, and so no pod is entered.
  const pods = Array.from({ length: 66 }, (_, n) => ({
    ...BRIDGE,
    interfaceName: `pod${n}`,
    namespaceOf: 2 ** 30,
  }));
  tap.watch(pods);
  tap.watch(pods);
  t.deepEqual(refused, ['pod64', 'pod65']);
  tap.watch(pods.slice(1));
  t.is(refused.length, 2);
  tap.watch([...pods.slice(1), { ...BRIDGE, interfaceName: 'pod66', namespaceOf: 2 ** 30 }]);
  t.deepEqual(refused, ['pod64', 'pod65', 'pod66']);
  await tap.stop();
});

const pipeFolders = (): string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('gleaner-tap-'));

test.serial('a missing tcpdump is told once, and its folder of pipes is gone', async (t) => {
  const recorder = new Recorder();
  const tap = new TcpdumpTap({ tcpdump: '/nowhere/tcpdump', timers: fastTimers });
  tap.start(recorder);
  tap.watch([BRIDGE]);
  await until('the loss', () => recorder.told.length > 0);
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.deepEqual(recorder.told, ['lost unavailable']);
  t.deepEqual(tap.listeningOn, []);
  await tap.stop();
  // One more attempt may have been under way.
  await until('the folders are gone', () => pipeFolders().length === 0);
});

test.serial(
  'a start removes the folders of pipes that killed hooks left, and no fresh or other folder',
  async (t) => {
    const [old, fresh] = [temporaryFolder('tap'), temporaryFolder('tap')];
    // Another program's, whose name begins alike.
    const other = temporaryFolder('tap-loss');
    writeFileSync(join(old, 'pcap'), '');
    const yesterday = Date.now() / 1000 - 86_400;
    for (const folder of [old, other]) utimesSync(folder, yesterday, yesterday);
    const tap = new TcpdumpTap({ tcpdump: '/nowhere/tcpdump', timers: fastTimers });
    tap.start(new Recorder());
    t.teardown(() => tap.stop());
    t.false(existsSync(old));
    t.true(existsSync(fresh) && existsSync(other));
    // If there is nothing to look through it starts all the same.
    process.env.TMPDIR = '/nowhere';
    try {
      const next = new TcpdumpTap({ tcpdump: '/nowhere/tcpdump', timers: fastTimers });
      t.notThrows(() => next.start(new Recorder()));
      t.teardown(() => next.stop());
    } finally {
      process.env.TMPDIR = scratch;
    }
  },
);

test('a stream out of step is ended and begun again', async (t) => {
  const broken = octal(Buffer.alloc(40, 255));
  const fake = otherProcess(
    `printf '${octal(stream())}'\nsleep 0.1\nprintf '${broken}'\nexec sleep 60`,
  );
  const recorder = new Recorder();
  const tap = new TcpdumpTap({ tcpdump: fake.path, timers: fastTimers });
  tap.start(recorder);
  tap.bind(CONTAINER, micros(BEGIN - 1));
  tap.watch([BRIDGE]);
  await until(
    'two restarts',
    () => recorder.told.filter((line) => line === 'lost restarted').length === 2,
  );
  t.true(recorder.ends >= 2);
  await tap.stop();
  fake.remove();
});

test('a tap told to stop while a capture begins leaves nothing', async (t) => {
  const fake = otherProcess(`printf '${octal(stream())}'\nexec sleep 60`);
  const tap = new TcpdumpTap({ tcpdump: fake.path });
  tap.start(new Recorder());
  tap.watch([BRIDGE]);
  await tap.stop();
  await new Promise((resolve) => setTimeout(resolve, 150));
  t.deepEqual(tap.pids, []);
  fake.remove();
});

test('a clock set under way is counted and stamps go on as before', async (t) => {
  let set = 0;
  const fake = otherProcess(`sleep 0.3\nprintf '${octal(stream())}'\nexec sleep 60`);
  const recorder = new Recorder();
  const tap = new TcpdumpTap({
    tcpdump: fake.path,
    timers: fastTimers,
    wallNow: () => Date.now() * 1000 + set,
  });
  tap.start(recorder);
  set = -3_600_000_000;
  await until('the step', () => recorder.count('clock_step') === 1);
  let at = 0;
  recorder.request = (request) => {
    at = request.at;
    recorder.ends--;
  };
  tap.bind(CONTAINER, micros(BEGIN - 1));
  tap.watch([BRIDGE]);
  await until('the request', () => at > 0);
  // The second packet of the stream bears BEGIN + 1 us; readings of Date.now() are whole
  // milliseconds.
  t.true(Math.abs(at - (BEGIN + 1 + 3_600_000_000)) < 3000);
  t.is(recorder.count('clock_step'), 1);
  await tap.stop();
  fake.remove();
});
