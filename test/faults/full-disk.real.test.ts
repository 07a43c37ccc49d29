import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { stringify } from 'yaml';
import { silentLogger } from '../../broker/index.js';
import { LogFiles } from '../../cli/up/log-files.js';
import { micros } from '../../config/index.js';
import { AuditLog } from '../../openwhisk-plugin/daemon/audit.js';
import { appendToAudit } from '../../openwhisk-plugin/daemon/index.js';
import { Journal } from '../../openwhisk-plugin/openwhisk-api/journal.js';
import { seriesOf } from '../runtime/metrics/exposition.js';
import { freePort } from '../support/free-port.js';
import { collected, until } from '../support/gleaner.js';
import { ManualTime } from '../support/manual-time.js';
import { openFiles } from '../support/open-files.js';
import { fill, makeRoom, smallDisk } from '../support/small-disk.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const CAPACITY = 80;

const linesOf = (path: string): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);
const isWhole = (line: string): boolean => {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
};

test.serial(
  'a disk that fills during a write leaves whole lines in the audit log, which continues',
  async (t) => {
    const folder = smallDisk(t, 24);
    if (folder === null) return;
    const errors: object[] = [];
    const infos: string[] = [];
    const logger = {
      ...silentLogger,
      error: (fields: object) => void errors.push(fields),
      info: (_: object, message: string) => void infos.push(message),
    };
    const path = join(folder, 'audit.jsonl');
    const log = new AuditLog(
      { path, rotateBytes: 1e9, files: 1, capacity: CAPACITY },
      new ManualTime(),
      logger,
    );
    let made = 0;
    const batch = async (lines: number): Promise<void> => {
      for (let i = 0; i < lines; i++)
        log.next(micros(0)).activation = `a${made++} ${'x'.repeat(150)}`;
      await log.flush();
    };
    // Some 210 bytes each: 24 KiB hold 117 at most.
    await batch(CAPACITY);
    await batch(CAPACITY);
    const first = linesOf(path);
    t.true(first.every(isWhole));
    t.is(readFileSync(path, 'utf8').at(-1), '\n');
    t.is(log.written, first.length);
    t.true(log.written > CAPACITY && log.written < 2 * CAPACITY);
    t.deepEqual([log.waiting, log.dropped], [made - log.written, 0], 'the rest is kept');
    for (let i = 0; i < 5; i++) await batch(20);
    t.is(errors.length, 1, 'once, not per line');
    t.is(log.failures, 6);
    t.is(log.waiting, CAPACITY);
    t.is(log.written + log.dropped + log.waiting, made);
    writeFileSync(path, '');
    await batch(10);
    t.deepEqual(infos, ['the audit log is written again']);
    const lines = linesOf(path).map(
      (line) => JSON.parse(line) as { activation?: string; droppedLines?: number },
    );
    const names = lines.flatMap(({ activation }) =>
      activation === undefined ? [] : [Number(activation.slice(1).split(' ')[0])],
    );
    t.deepEqual(
      names,
      Array.from({ length: CAPACITY }, (_, i) => made - CAPACITY + i),
      'the newest, each once and in order',
    );
    t.is(lines.at(-1)?.droppedLines, log.dropped);
    t.is(log.waiting, 0);
    await log.close();
    t.is(log.written + log.dropped, made);
  },
);

test.serial(
  'a disk that fills after a restore without a hook cuts no line of the audit log',
  async (t) => {
    const folder = smallDisk(t, 24);
    if (folder === null) return;
    const path = join(folder, 'audit.jsonl');
    const log = new AuditLog({ path, rotateBytes: 1e9, files: 1 }, new ManualTime(), silentLogger);
    const batch = async (lines: number): Promise<void> => {
      for (let i = 0; i < lines; i++) log.next(micros(0)).activation = 'x'.repeat(150);
      await log.flush();
    };
    await batch(40);
    const OTHERS = 20;
    appendToAudit(path, `{"who":"other","why":"${'x'.repeat(100)}"}\n`.repeat(OTHERS));
    // Some 210 bytes each: more than 24 KiB hold.
    await batch(100);
    t.is(log.failures, 1);
    t.is(readFileSync(path, 'utf8').at(-1), '\n');
    const lines = linesOf(path);
    t.true(lines.every(isWhole));
    const others = lines.filter((line) => line.includes('"who":"other"')).length;
    t.deepEqual([others, lines.length - others], [OTHERS, log.written]);
    await log.close();
  },
);

const PAGE = 4096;

test.serial(
  'an audit log whose incomplete line cannot be ended on a full disk is closed each time',
  async (t) => {
    const folder = smallDisk(t, 24);
    if (folder === null) return;
    const path = join(folder, 'audit.jsonl');
    const incomplete = '{"at":"'.padEnd(PAGE, 'x');
    writeFileSync(path, incomplete);
    fill(folder);
    const log = new AuditLog({ path, rotateBytes: 1e9, files: 1 }, new ManualTime(), silentLogger);
    for (let i = 0; i < 3; i++) {
      log.next(micros(0)).activation = `a${i}`;
      await log.flush();
      t.deepEqual(openFiles(folder), []);
    }
    t.deepEqual([log.failures, log.waiting], [3, 3]);
    makeRoom(folder);
    await log.flush();
    const [first, ...lines] = linesOf(path);
    t.is(first, incomplete);
    t.is(lines.length, 3);
    t.true(lines.every(isWhole));
    await log.close();
    t.deepEqual(openFiles(folder), []);
  },
);

test.serial('a restore without a hook leaves whole lines when the disk fills', (t) => {
  const folder = smallDisk(t, 24);
  if (folder === null) return;
  const path = join(folder, 'audit.jsonl');
  const line = `{"who":"other","why":"${'x'.repeat(300)}"}\n`;
  // The rest of its page has room for some of the lines.
  const incomplete = '{"at":"'.padEnd(PAGE / 2, 'x');
  writeFileSync(path, incomplete);
  fill(folder);
  const room = Math.floor((PAGE / 2 - 1) / line.length);
  for (let i = 0; i < 2; i++) {
    t.throws(() => appendToAudit(path, line.repeat(40)), { code: 'ENOSPC' });
    t.true(readFileSync(path, 'utf8') === `${incomplete}\n${line.repeat(room)}`);
  }
});

test.serial(
  'on a full disk the supervisor continues and counts missing log lines in the file',
  (t) => {
    const folder = smallDisk(t, 32);
    if (folder === null) return;
    const failed: string[] = [];
    const logs = new LogFiles(folder, (child) => void failed.push(child));
    logs.write('hook', 'first');
    fill(folder);
    // 4096 bytes of a page are there already; what they hold is written.
    for (let i = 0; i < 200; i++) logs.write('hook', `line ${i} ${'x'.repeat(100)}`);
    // A file that cannot even be given a page.
    for (let i = 0; i < 5; i++) logs.write('agents', 'a line');
    t.is(failed[0], 'hook');
    makeRoom(folder);
    logs.write('hook', 'there is room');
    logs.close();
    const lines = linesOf(join(folder, 'hook.log'));
    t.is(lines.at(-1), 'there is room');
    t.regex(lines.at(-2)!, /^--- \d+ lines are missing$/);
    const whole = lines.filter((line) => /^line \d+ x{100}$/.test(line)).length;
    t.is(whole + Number(/\d+/.exec(lines.at(-2)!)![0]), 200);
  },
);

test.serial(
  'a change that the full disk cannot note is refused and leaves no part of a line in the journal',
  async (t) => {
    const folder = smallDisk(t, 24);
    if (folder === null) return;
    const path = join(folder, 'actions.journal');
    const journal = await Journal.open(path);
    const entry = (i: number) => ({
      at: new Date(0).toISOString(),
      id: `${i}-${'x'.repeat(400)}`,
      kind: 'done' as const,
    });
    let written = 0;
    const error = t.throws(() => {
      for (; written < 1000; written++) journal.append(entry(written) as never);
    });
    t.is((error as { code?: string }).code, 'GLN_ACTIONS_JOURNAL');
    t.true(written > 0);
    t.is(linesOf(path).length, written);
    t.is(readFileSync(path, 'utf8').at(-1), '\n');
    journal.close();
  },
);

test.serial(
  'a hook runs with a full state folder and writes its audit log once there is space',
  async (t) => {
    // More than all lines that wait (8192 of them), however long the disk is full.
    const folder = smallDisk(t, 16 * 1024);
    if (folder === null) return;
    fill(folder);
    const config = join(temporaryFolder('full-disk'), 'gleaner.yaml');
    const port = await freePort();
    writeFileSync(
      config,
      stringify({
        mode: 'enforce',
        platform: 'simulated',
        simulator: { speed: 50 },
        hook: { stateDir: folder },
        metrics: { hook: `127.0.0.1:${port}`, agents: null, aggregator: null },
      }),
    );
    const child = spawn(process.execPath, ['dist/cli/main.js', '--config', config, 'hook'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    const { output, ended } = collected(child);
    const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);
    const series = async (): Promise<ReadonlyMap<string, number>> => {
      try {
        return seriesOf(await (await get('/metrics')).text());
      } catch {
        return new Map();
      }
    };
    const failed = (): number => output().split('audit_log_failed').length - 1;
    await until(() => failed() > 0, 60_000, 'the disk is full');
    const before = (await series()).get('gleaner_requests_total')!;
    await until(
      async () => ((await series()).get('gleaner_requests_total') ?? 0) > before + 20,
      30_000,
      'it goes on',
    );
    t.is((await get('/livez')).status, 200);
    t.is(failed(), 1);
    const page = await series();
    t.is(page.get('gleaner_audit_records_total{result="written"}'), 0);
    t.true(page.get('gleaner_audit_write_failures_total')! > 0);
    t.true(page.get('gleaner_audit_records_waiting')! > 0);
    const ready = await get('/readyz?verbose');
    t.is(ready.status, 200);
    t.regex(
      await ready.text(),
      /^\[~\] audit: audit log cannot be written: ENOSPC.*\n(?:.*\n)*ok, degraded: .*audit/m,
    );
    makeRoom(folder);
    await until(() => output().includes('the audit log is written again'), 10_000, 'there is room');
    let written = 0;
    await until(
      async () => {
        written = (await series()).get('gleaner_audit_records_total{result="written"}') ?? 0;
        return written > 0;
      },
      10_000,
      'lines are written',
    );
    const lines = linesOf(join(folder, 'audit.jsonl'));
    t.true(lines.every(isWhole));
    t.true(lines.length >= written);
    child.kill('SIGTERM');
    t.is(await ended, 0);
  },
);
