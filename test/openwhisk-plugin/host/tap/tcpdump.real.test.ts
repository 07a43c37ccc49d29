import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { micros } from '../../../../config/index.js';
import { addressOf, type Bridge } from '../../../../openwhisk-plugin/host/ports/index.js';
import { isInstalled } from '../../../../openwhisk-plugin/host/tap/capture-command.js';
import { TcpdumpTap } from '../../../../openwhisk-plugin/host/tap/index.js';
import { processesWith } from '../../../support/gleaner.js';
import { temporaryFolder } from '../../../support/temporary-folder.js';
import {
  Bridges,
  type Container,
  command,
  dial,
  exchange,
  listening,
  pause,
  until,
} from './bridge.js';
import { headOf, Recorder, runBody } from './packets.js';

const bridges = new Bridges('gltap');
let network: Bridge | undefined;
let container: Container | undefined;

async function missing(): Promise<string | null> {
  for (const program of ['docker', 'tcpdump', 'ip', 'nsenter'])
    if (!isInstalled(program)) return program;
  return command('docker', 'info').then(
    () => null,
    () => 'dockerd',
  );
}

test.before(async () => {
  const lacking = await missing();
  if (lacking !== null) {
    if (process.env.CI) throw new Error(`${lacking} is missing`);
    console.error(`NOT TESTED: the tap on a real bridge, because ${lacking} is missing`);
    return;
  }
  await bridges.prepare();
  network = await bridges.network();
  container = await bridges.container(network.networkName);
  await listening(container.address);
});

test.after.always(() => bridges.clear());

interface Setting {
  tap: TcpdumpTap;
  recorder: Recorder;
  network: Bridge;
  container: Container;
}

async function withTap(
  t: ExecutionContext,
  run: (setting: Setting) => Promise<void>,
): Promise<void> {
  if (network === undefined || container === undefined) {
    t.pass();
    return;
  }
  const recorder = new Recorder();
  const tap = new TcpdumpTap();
  tap.start(recorder);
  tap.watch([network]);
  tap.bind(addressOf(container.address), micros(container.startedAt));
  try {
    await until('tcpdump listens', () => tap.listeningOn.length === 1);
    await run({ tap, recorder, network, container });
  } finally {
    await tap.stop();
  }
}

const actions = (recorder: Recorder): string[] =>
  recorder.identities.map((identity) => identity?.action ?? 'unknown');

test.serial('bodies from 0 to 1 MiB are seen in both client styles', async (t) => {
  await withTap(t, async ({ recorder, container }) => {
    const sizes = [0, 100, 400, 600, 2_000, 9_000, 60_000, 900_000, 1_048_576];
    const kept = await dial(container.address);
    const expected: string[] = [];
    for (const [i, size] of sizes.entries()) {
      const body = runBody({ action: `/guest/f${i}`, value: `{"x":"${'y'.repeat(size)}"}` });
      const single = await dial(container.address);
      t.regex(await exchange(single, headOf('/run', body), body), /200 OK/);
      single.destroy();
      t.regex(await exchange(kept, headOf('/run', body) + body), /200 OK/);
      expected.push(`/guest/f${i}`, `/guest/f${i}`);
    }
    kept.destroy();
    await until('all ends', () => recorder.ends === expected.length);
    t.deepEqual(actions(recorder), expected);
    t.is(recorder.count('unexpected_sequence'), 0);
  });
});

/** SCHED_BATCH (include/uapi/linux/sched.h); field 41 of /proc/<pid>/stat is the policy. */
const BATCH = 3;

const policiesOf = (tap: TcpdumpTap): number[] =>
  tap.pids.map((pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The first two fields are the pid and a name in parentheses, which may have spaces.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[41 - 3]);
  });

test.serial('tcpdump takes no core from what runs, where chrt is there', async (t) => {
  await withTap(t, async ({ tap }) => {
    const policy = isInstalled('chrt') && isInstalled('setpriv') ? BATCH : 0;
    t.deepEqual(policiesOf(tap), [policy, policy]);
  });
});

test.serial('where chrt is refused, tcpdump listens as any process', async (t) => {
  const folder = temporaryFolder('chrt');
  writeFileSync(join(folder, 'chrt'), '#!/bin/sh\necho refused >&2\nexit 1\n', { mode: 0o755 });
  const { PATH } = process.env;
  process.env.PATH = `${folder}:${PATH}`;
  try {
    await withTap(t, async ({ tap }) => {
      t.deepEqual(policiesOf(tap), [0, 0]);
    });
  } finally {
    process.env.PATH = PATH;
  }
});

test.serial('fifty parallel calls are each told and ended', async (t) => {
  await withTap(t, async ({ recorder, container }) => {
    await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const body = runBody({ action: `/guest/p${i}`, value: '{"sleep":50}' });
        const socket = await dial(container.address);
        await exchange(socket, headOf('/run', body), body);
        socket.destroy();
      }),
    );
    await until('all ends', () => recorder.ends === 50);
    t.is(new Set(actions(recorder)).size, 50);
  });
});

test.serial(
  'a forged head that really begins a packet inside a body changes nothing',
  async (t) => {
    await withTap(t, async ({ recorder, container }) => {
      const fake = runBody({ action: '/victim/f' });
      const forged = headOf('/run', fake) + fake;
      const body = runBody({ value: JSON.stringify({ x: forged }) });
      const text = body.indexOf('POST');
      const socket = await dial(container.address);
      await exchange(socket, headOf('/run', body), body.slice(0, text), body.slice(text));
      const next = runBody({ action: '/guest/next' });
      await exchange(socket, headOf('/run', next), next);
      socket.destroy();
      await until('both ends', () => recorder.ends === 2);
      t.deepEqual(actions(recorder), ['/guest/plain', '/guest/next']);
      t.is(recorder.count('unexpected_sequence'), 1);
    });
  },
);

test.serial(
  'HTTP in an answer, a closed client, a pause and retransmitted heads end once each',
  async (t) => {
    await withTap(t, async ({ recorder, container }) => {
      const spill = runBody({ value: '{"spill":true}' });
      await exchange(await dial(container.address), headOf('/run', spill), spill);
      await until('the spilling answer', () => recorder.ends === 1);

      const slow = runBody({ value: '{"sleep":200}' });
      const gone = await dial(container.address);
      gone.write(headOf('/run', slow) + slow);
      await pause(50);
      gone.end();
      await until(
        'the answer to a closed client',
        () => recorder.told.filter((line) => line.startsWith('closed')).length >= 2,
      );
      t.is(recorder.starts, 2);

      await command('docker', 'pause', container.id);
      const body = runBody({ action: '/guest/paused' });
      const paused = await dial(container.address);
      const answered = exchange(paused, headOf('/run', body), body);
      await pause(300);
      t.is(actions(recorder).at(-1), '/guest/paused');
      const before = recorder.ends;
      await command('docker', 'unpause', container.id);
      await answered;
      await until('the end after the pause', () => recorder.ends === before + 1);
      paused.destroy();

      const lossy = await dial(container.address);
      await pause(20);
      const gateway = `${network?.gateway}/32`;
      const inside = ['-t', container.pid, '-n', 'ip', 'route'];
      await command('nsenter', ...inside, 'add', 'blackhole', gateway);
      const again = runBody({ action: '/guest/again' });
      const late = exchange(lossy, headOf('/run', again) + again);
      await pause(700);
      await command('nsenter', ...inside, 'del', 'blackhole', gateway);
      await late;
      await until('the end after the losses', () => recorder.ends === before + 2);
      lossy.destroy();
      t.true(recorder.count('retransmission') > 0);
      t.is(recorder.starts, 4);
    });
  },
);

test.serial(
  'a container that dies mid-run closes the connection, and its address counts for the next one',
  async (t) => {
    await withTap(t, async ({ tap, recorder, network }) => {
      const first = await bridges.container(network.networkName);
      tap.bind(addressOf(first.address), micros(first.startedAt));
      await listening(first.address);
      const body = runBody({ action: '/guest/mortal', value: '{"exit":true}' });
      await exchange(await dial(first.address), headOf('/run', body), body);
      await until('the close', () => /closed|reset/.test(recorder.told.at(-1) ?? ''));
      t.is(recorder.ends, 0);
      tap.unbind(addressOf(first.address));
      await bridges.removeContainer(first.id);
      const successor = await bridges.container(network.networkName);
      t.is(successor.address, first.address);
      tap.bind(addressOf(successor.address), micros(successor.startedAt));
      await listening(successor.address);
      const next = runBody({ action: '/guest/heir' });
      await exchange(await dial(successor.address), headOf('/run', next) + next);
      await until('the end of the heir', () => recorder.ends === 1);
      t.deepEqual(actions(recorder), ['/guest/mortal', '/guest/heir']);
      await bridges.removeContainer(successor.id);
    });
  },
);

test.serial(
  'an invoker in a container on the bridge is learned, and garbage on the port is nothing',
  async (t) => {
    await withTap(t, async ({ recorder, network, container }) => {
      const body = runBody({ action: '/guest/inside' });
      const bytes = JSON.stringify(headOf('/run', body) + body);
      const script =
        `require('net').connect(8080, '${container.address}').end(${bytes}); ` +
        'setTimeout(() => {}, 5000)';
      const invoker = await bridges.container(network.networkName, { script });
      await until('the run of the invoker', () => recorder.starts === 1);
      t.deepEqual(actions(recorder), ['/guest/inside']);
      await bridges.removeContainer(invoker.id);
      const noise = await dial(container.address);
      noise.write('POST\0\xff'.repeat(500));
      await until('the noise is counted', () => recorder.count('unreadable_head') > 0);
      noise.destroy();
    });
  },
);

test.serial(
  'tcpdump killed is told, started again, and sees again; stop leaves no process',
  async (t) => {
    await withTap(t, async ({ tap, recorder, container }) => {
      for (let round = 1; round <= 3; round++) {
        const [pid] = tap.pids;
        process.kill(pid!, 'SIGKILL');
        await until(
          'the loss is told',
          () => recorder.told.filter((line) => line === 'lost restarted').length === round,
        );
        await until('tcpdump listens again', () => tap.listeningOn.length === 1);
        const body = runBody({ action: `/guest/r${round}` });
        const socket = await dial(container.address);
        await exchange(socket, headOf('/run', body), body);
        socket.destroy();
        await until('the run after it', () => recorder.ends === round);
      }
      const [pid] = tap.pids;
      await tap.stop();
      t.throws(() => process.kill(pid!, 0), { code: 'ESRCH' });
      t.deepEqual(actions(recorder), ['/guest/r1', '/guest/r2', '/guest/r3']);
    });
  },
);

test.serial('a user-made bridge is followed as it comes and goes', async (t) => {
  await withTap(t, async ({ tap, recorder, network }) => {
    for (let round = 1; round <= 2; round++) {
      const made = await bridges.network();
      tap.watch([network, made]);
      await until('both bridges', () => tap.listeningOn.length === 2);
      const guest = await bridges.container(made.networkName);
      tap.bind(addressOf(guest.address), micros(guest.startedAt));
      await listening(guest.address);
      const body = runBody({ action: `/guest/b${round}` });
      await exchange(await dial(guest.address), headOf('/run', body), body);
      await until('the run on it', () => recorder.ends === round);
      tap.unbind(addressOf(guest.address));
      await bridges.removeContainer(guest.id);
      await bridges.removeNetwork(made.networkName);
      tap.watch([network]);
      await until('one bridge', () => tap.listeningOn.length === 1);
    }
    t.deepEqual(actions(recorder), ['/guest/b1', '/guest/b2']);
  });
});

test.serial(
  'a tap that may not signal its tcpdump reports lost counters and continues',
  async (t) => {
    if (network === undefined || !isInstalled('setpriv') || process.getuid?.() !== 0) {
      t.pass();
      return;
    }
    // An unused port, which identifies the processes of this test.
    const port = '39871';
    const alive = (): { pid: number; args: string }[] =>
      processesWith(`port ${port}`).filter(({ args }) => args.startsWith('tcpdump'));
    t.teardown(() => {
      for (const { pid } of alive()) process.kill(pid, 'SIGKILL');
    });
    // Long enough for two signals (1 s each) and their errors: Node reports each signal that is
    // refused as an `error` event of the child.
    const script = join(import.meta.dirname, 'tap-without-cap-kill.js');
    const said = await command(
      'setpriv',
      '--bounding-set=-kill',
      process.execPath,
      script,
      network.interfaceName,
      port,
      '4000',
    );
    t.regex(said, /lost restarted/);
  },
);
