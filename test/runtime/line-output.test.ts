import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { LiveScreen } from '../../cli/live-view.js';
import { FileLines } from '../../runtime/line-output.js';
import { colorsFor } from '../../runtime/output.js';
import { missing } from '../support/real-parts.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const dist = (path: string): string => pathToFileURL(`dist/${path}`).href;

const TELL = `import { writeSync } from 'node:fs';
const tell = (value) => writeSync(3, JSON.stringify(value) + '\\n');
`;

/**
 * A program that may import what is built; `tell` writes to its fourth descriptor, whatever becomes
 * of its other output.
 */
function program(text: string, stdio: ('pipe' | 'ignore')[]): ChildProcess {
  return spawn(process.execPath, ['--input-type=module', '-e', `${TELL}${text}`], {
    stdio: ['ignore', ...stdio, 'pipe'],
  });
}

/** The lines that `tell` has written, each as it comes. */
async function* messagesOf(child: ChildProcess): AsyncGenerator<Record<string, number>> {
  let rest = '';
  for await (const chunk of child.stdio[3] as NodeJS.ReadableStream) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line) as Record<string, number>;
  }
}

/**
 * 100 ticks with 200 lines of more than 200 bytes in each: 4 MB, of which a pipe and the backlog
 * hold a quarter.
 */
const FLOOD = `
  const { makeLogger, logLines, flushLog } = await import('${dist('runtime/logger.js')}');
  const log = makeLogger('info', 'hook');
  let ticks = 0;
  const timer = setInterval(async () => {
    for (let i = 0; i < 200; i++) log.info({ n: ticks * 200 + i, pad: 'x'.repeat(200) }, 'a line');
    if (++ticks === 60) tell({ ticks });
    if (ticks < 100) return;
    clearInterval(timer);
    await flushLog(5000);
    tell({ ticks, ...logLines(), written: logLines().written, dropped: logLines().dropped });
    process.exit(0);
  }, 5);
`;

test('a stalled reader of stderr does not stop the event loop; lines are dropped', async (t) => {
  const child = program(FLOOD, ['ignore', 'pipe']);
  let text = '';
  let last: Record<string, number> = {};
  for await (const message of messagesOf(child)) {
    // Sixty ticks have passed although no byte was read.
    if (message.ticks === 60)
      child.stderr!.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    last = message;
  }
  await new Promise((resolve) =>
    child.stderr!.readableEnded ? resolve(null) : child.stderr!.on('end', resolve),
  );
  t.is(last.ticks, 100);
  t.true(last.dropped! > 0);
  t.is(last.written! + last.dropped!, 100 * 200);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { n?: number; event?: string; dropped?: number });
  t.is(lines.filter(({ n }) => n !== undefined).length, last.written!);
  const notices = lines.filter(({ event }) => event === 'log_lines_dropped');
  t.is(
    notices.reduce((sum, { dropped }) => sum + dropped!, 0),
    last.dropped!,
  );
});

test('a terminal that was stopped never stops the event loop', async (t) => {
  if (missing(t, [['python3', '--version']])) return;
  // The terminal's other side is not read, as after Ctrl-S.
  const pty = `import os, pty, subprocess, sys
ours, theirs = pty.openpty()
command = [sys.argv[1], '--input-type=module', '-e', sys.argv[2]]
sys.exit(subprocess.run(command, stderr=theirs, timeout=60, pass_fds=[3]).returncode)`;
  const script = `${TELL}${FLOOD.replace('5000', '10')}`;
  const child = spawn('python3', ['-c', pty, process.execPath, script], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  let last: Record<string, number> = {};
  for await (const message of messagesOf(child)) last = message;
  t.is(last.ticks, 100);
  t.true(last.dropped! > 0);
});

test('no line is lost at an orderly end, whose reader is a little slow', async (t) => {
  const LINES = 3000;
  const child = program(
    `
    const { makeLogger } = await import('${dist('runtime/logger.js')}');
    const { runAsProcess } = await import('${dist('runtime/child.js')}');
    await runAsProcess(async () => {
      const log = makeLogger('info', 'hook');
      const pad = 'x'.repeat(200);
      const stop = async () => {
        for (let n = 0; n < ${LINES}; n++) log.info({ n, pad }, 'a line');
      };
      return { stop };
    });
    tell({ ready: 1 });
    setInterval(() => undefined, 1000);
    setTimeout(() => process.kill(process.pid, 'SIGTERM'), 10);
  `,
    ['ignore', 'pipe'],
  );
  let text = '';
  const ended = new Promise((resolve) => child.on('close', (code) => resolve(code)));
  for await (const _ of messagesOf(child)) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    child.stderr!.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  }
  t.is(await ended, 0);
  const lines = text.trimEnd().split('\n');
  t.is(lines.length, LINES);
  t.is((JSON.parse(lines.at(-1)!) as { n: number }).n, LINES - 1);
});

test('a log on a full file: lines are dropped and counted, and nothing throws', (t) => {
  const descriptor = openSync('/dev/full', 'w');
  const lines = new FileLines(descriptor, (dropped) => `${dropped} missing\n`);
  t.false(lines.write('a\n'));
  t.false(lines.write('b\n'));
  t.deepEqual([lines.written, lines.dropped, lines.bytes], [0, 2, 0]);
  closeSync(descriptor);
  t.false(lines.write('c\n'), 'nor where the file is closed');
});

test('lines of a file are whole and in order', (t) => {
  const path = join(temporaryFolder('lines'), 'log');
  const descriptor = openSync(path, 'w');
  const lines = new FileLines(descriptor, String);
  for (const line of ['a\n', 'é\n', `${'x'.repeat(100_000)}\n`]) t.true(lines.write(line));
  closeSync(descriptor);
  t.is(readFileSync(path, 'utf8'), `a\né\n${'x'.repeat(100_000)}\n`);
  t.is(lines.bytes, 2 + 3 + 100_001);
});

test('a terminal that has not taken the last picture gets no further one', (t) => {
  let pending = 0;
  const frames: string[] = [];
  const screen = {
    write: (text: string) => void frames.push(text),
    isTerminal: true,
    columns: 80,
    get pending() {
      return pending;
    },
  };
  const live = new LiveScreen(screen, colorsFor(screen, {}));
  const model = {
    hosts: [],
    silentSeconds: {},
    functions: [],
    manager: 'greedy',
    platform: 'simulated',
    nats: 'away' as const,
    upSeconds: 0,
    restarts: 0,
    dashboard: null,
    notes: [],
  };
  live.draw(model, 40);
  pending = 1;
  live.draw(model, 40);
  t.is(frames.length, 1);
  pending = 0;
  live.draw(model, 40);
  t.is(frames.length, 2);
});
