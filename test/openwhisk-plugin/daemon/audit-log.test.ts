import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import fc from 'fast-check';
import { silentLogger } from '../../../broker/index.js';
import { micros } from '../../../config/index.js';
import { AuditLog, AuditRecord, auditLine } from '../../../openwhisk-plugin/daemon/audit.js';
import { JsonBytes } from '../../../openwhisk-plugin/daemon/json-bytes.js';
import { ManualTime } from '../../support/manual-time.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

test('a full audit buffer keeps the newest records and writes how many are lost', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-audit-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'audit.log');
  const options = { path, rotateBytes: 1e9, files: 1, capacity: 10 };
  const log = new AuditLog(options, new ManualTime(), silentLogger);
  const record = (activation: string): void => {
    log.next(micros(0)).activation = activation;
  };
  const lines = (): { activation?: string; droppedLines?: number }[] =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  for (let i = 0; i < 25; i++) record(`a${i}`);
  await log.flush();
  t.deepEqual(
    lines().map(({ activation }) => activation),
    [...Array.from({ length: 10 }, (_, i) => `a${15 + i}`), undefined],
  );
  t.is(lines().at(-1)?.droppedLines, 15);
  t.deepEqual([log.written, log.dropped], [10, 15]);
  for (let i = 25; i < 32; i++) record(`a${i}`);
  await log.close();
  t.deepEqual(
    lines()
      .slice(11)
      .map(({ activation }) => activation),
    ['a25', 'a26', 'a27', 'a28', 'a29', 'a30', 'a31'],
  );
  record('after the end');
  t.is(log.dropped, 16);
});

test('a record during the last flush is in the file or counted as dropped', async (t) => {
  const path = join(temporaryFolder('audit'), 'audit.log');
  const options = { path, rotateBytes: 1e9, files: 1 };
  const log = new AuditLog(options, new ManualTime(), silentLogger);
  log.next(micros(0)).activation = 'before';
  const closed = log.close();
  await Promise.resolve();
  log.next(micros(0)).activation = 'during';
  await closed;
  t.deepEqual([log.written, log.dropped], [1, 1]);
});

test('a log that was deleted or moved by another program is begun again', async (t) => {
  const path = join(temporaryFolder('audit'), 'audit.log');
  const log = new AuditLog({ path, rotateBytes: 1e9, files: 1 }, new ManualTime(), silentLogger);
  const write = async (activation: string): Promise<void> => {
    log.next(micros(0)).activation = activation;
    await log.flush();
  };
  const activations = (file: string): string[] =>
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { activation: string }).activation);
  await write('a');
  rmSync(path);
  await write('b');
  t.deepEqual(activations(path), ['b']);
  renameSync(path, `${path}.moved`);
  await write('c');
  await write('d');
  t.deepEqual(activations(`${path}.moved`), ['b']);
  t.deepEqual(activations(path), ['c', 'd']);
  t.deepEqual([log.written, log.dropped, log.failures], [4, 0, 0]);
  await log.close();
});

test('a record that is used again keeps nothing of the last one', (t) => {
  const record = new AuditRecord();
  const fields = record as unknown as Record<string, unknown>;
  for (const [key, value] of Object.entries(fields))
    fields[key] = typeof value === 'number' ? 7 : 'of the last one';
  record.reset(micros(0));
  t.deepEqual(record, new AuditRecord());
});

test('any text of a record is read back from its line', (t) => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant('x"\\\n\u2028é'));
  fc.assert(
    fc.property(fc.array(text, { minLength: 3, maxLength: 3 }), fc.integer(), (texts, old) => {
      const record = new AuditRecord();
      [record.who = '', record.why = '', record.activation = ''] = texts;
      record.old = old;
      const line = auditLine(record);
      t.true(line.endsWith('}\n') && !line.slice(0, -1).includes('\n'));
      const { who = '', why = '', activation = '', old: read = -1 } = JSON.parse(line);
      t.deepEqual([who, why, activation, read], [...texts, old]);
    }),
  );
});

test('lines longer than the buffer are whole', (t) => {
  const record = new AuditRecord();
  record.why = 'ü'.repeat(5000);
  t.is(JSON.parse(auditLine(record)).why, record.why);
});

test('memory of a burst of lines is not kept', (t) => {
  const lines = new JsonBytes(16);
  lines.ascii('x'.repeat(1000));
  t.is(lines.bytes.length, 1000);
  lines.clear();
  lines.quoted('y');
  t.is(lines.bytes.buffer.byteLength, 16);
  t.is(lines.bytes.toString(), '"y"');
});
