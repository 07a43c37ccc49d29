import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Logger, RateLimitedLog } from '../../broker/index.js';
import { type Cancel, type Micros, messageOf, millis, type Timers } from '../../config/index.js';
import { JsonBytes } from './json-bytes.js';
import type { LimitResource } from './tallies.js';

/** What a record is about. */
export type AuditResource = LimitResource | 'mode' | 'oom' | 'none';

/**
 * One line of the audit log, formatted later, away from the hot path. -1 = does not apply. Shares
 * are v1 weights, quotas millicores (0: no limit), memory bytes, durations us.
 */
export class AuditRecord {
  at = 0 as Micros;
  /** `safeguard`, `policy:<name>`, `agent:<author>`, `boost`, `drift`, `operator:<name>`, … */
  who = '';
  /** Why: a reason of the decision, an end, a cause. */
  why = '';
  resource: AuditResource = 'none';
  container = '';
  containerName = '';
  action = '';
  version = '';
  activation = '';
  mode = '';
  demand = -1;
  low = -1;
  high = -1;
  rangeReason = '';
  granted = -1;
  old = -1;
  new = -1;
  readBack = -1;
  result = '';
  /** The operator's `--reason`. */
  reason = '';
  duration = -1;

  /** Makes it a blank record again. */
  reset(at: Micros): void {
    this.at = at;
    this.who = this.why = this.container = this.containerName = '';
    this.resource = 'none';
    this.action = this.version = this.activation = this.mode = this.rangeReason = this.result = '';
    this.reason = '';
    this.demand = this.low = this.high = this.granted = -1;
    this.old = this.new = this.readBack = this.duration = -1;
  }
}

export interface AuditOptions {
  readonly path: string;
  readonly rotateBytes: number;
  /** Number of rotated files that are kept: `<path>.1` is the newest. */
  readonly files: number;
  /** Records held until the next flush; when full, the oldest are dropped and counted. */
  readonly capacity?: number;
  readonly flushMillis?: number;
  /** Real time of a time stamp of a simulated host. Default: the same time. */
  readonly timeOfDay?: (at: Micros) => Micros;
}

export const LINE_END = 10;

function linesIn(data: Buffer): number {
  let lines = 0;
  for (let at = data.indexOf(LINE_END); at >= 0; at = data.indexOf(LINE_END, at + 1)) lines++;
  return lines;
}

/** Offset behind the first `lines` lines. */
function lineStart(data: Buffer, lines: number): number {
  let at = 0;
  for (let i = 0; i < lines; i++) at = data.indexOf(LINE_END, at) + 1;
  return at;
}

/** Cuts from the current end, because a restore without a hook may have appended too. */
async function cutEnd(file: FileHandle, bytes: number): Promise<void> {
  const { size } = await file.stat();
  await file.truncate(size - bytes);
}

/** Appends `key`, which has its comma, quotes and colon, and the value if it applies. */
function put(lines: JsonBytes, key: string, value: string | number): void {
  if (value === '' || value === -1) return;
  lines.ascii(key);
  if (typeof value === 'string') lines.quoted(value);
  else lines.ascii(Number.isFinite(value) ? String(value) : 'null');
}

/** Appends one record as one JSON line. Keys that do not apply are absent. */
function putLine(lines: JsonBytes, record: AuditRecord): void {
  lines.ascii('{"at":"');
  lines.ascii(new Date(record.at / 1000).toISOString());
  lines.ascii('"');
  put(lines, ',"who":', record.who);
  put(lines, ',"why":', record.why);
  put(lines, ',"resource":', record.resource);
  put(lines, ',"action":', record.action);
  put(lines, ',"version":', record.version);
  put(lines, ',"activation":', record.activation);
  put(lines, ',"container":', record.container);
  put(lines, ',"name":', record.containerName);
  put(lines, ',"mode":', record.mode);
  put(lines, ',"demand":', record.demand);
  if (record.low !== -1 || record.high !== -1)
    lines.ascii(`,"allowed":[${record.low},${record.high}]`);
  put(lines, ',"allowedReason":', record.rangeReason);
  put(lines, ',"granted":', record.granted);
  put(lines, ',"old":', record.old);
  put(lines, ',"new":', record.new);
  put(lines, ',"readBack":', record.readBack);
  put(lines, ',"result":', record.result);
  put(lines, ',"reason":', record.reason);
  put(lines, ',"durationMicros":', record.duration < 0 ? -1 : Math.round(record.duration));
  lines.ascii('}\n');
}

export function auditLine(record: AuditRecord): string {
  const line = new JsonBytes(1024);
  putLine(line, record);
  return line.bytes.toString();
}

/**
 * JSON lines in a file of mode 0600, appended asynchronously, rotated by size. The file holds whole
 * lines only: a line that a full disk cuts off is removed, kept in memory, and written later.
 */
export class AuditLog {
  readonly #options: AuditOptions;
  readonly #logger: Logger;
  readonly #log: RateLimitedLog;
  readonly #ring: AuditRecord[] = [];
  readonly #afterTheEnd = new AuditRecord();
  /** Lines of the newest flush, used again by the next one when they are in the file. */
  readonly #lines = new JsonBytes(64 * 1024);
  readonly #cancel: Cancel;
  /** Position of the oldest record in the ring that is not written yet, and their number. */
  #oldest = 0;
  #used = 0;
  #file: FileHandle | null = null;
  #size = 0;
  #kept: Buffer = Buffer.alloc(0);
  #busy: Promise<void> | null = null;
  #droppedReported = 0;
  dropped = 0;
  written = 0;
  /** Lines that could not be written yet. */
  waiting = 0;
  /** Writes that failed or were incomplete. */
  failures = 0;
  /** Cause of the newest failure; null: the newest write succeeded. */
  failure: string | null = null;
  #closed = false;

  constructor(options: AuditOptions, timers: Timers, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    this.#log = new RateLimitedLog(logger);
    this.#cancel = timers.every(millis(options.flushMillis ?? 200), () => void this.flush());
  }

  get #capacity(): number {
    return this.#options.capacity ?? 8192;
  }

  /** A blank record to fill in at once; the next flush writes it. Never blocks, never fails. */
  next(at: Micros): AuditRecord {
    if (this.#closed) {
      this.dropped++;
      this.#afterTheEnd.reset(at);
      return this.#afterTheEnd;
    }
    if (this.#used >= this.#capacity) {
      // The file cannot be written now: newer records are more useful than older ones.
      this.dropped++;
      this.#used--;
      this.#oldest = (this.#oldest + 1) % this.#ring.length;
    }
    const place = this.#oldest + this.#used;
    let record = this.#ring[this.#oldest === 0 ? place : place % this.#ring.length];
    if (record === undefined) {
      record = new AuditRecord();
      this.#ring.push(record);
    }
    this.#used++;
    record.reset(this.#options.timeOfDay?.(at) ?? at);
    return record;
  }

  /** Formats all buffered records and appends them in one write. One flush runs at a time. */
  flush(): Promise<void> {
    if (this.#busy !== null) return this.#busy;
    if (this.#used + this.waiting === 0 && this.dropped === this.#droppedReported)
      return Promise.resolve();
    this.#lines.clear();
    const lines = this.#used;
    for (let i = 0; i < lines; i++)
      putLine(this.#lines, this.#ring[(this.#oldest + i) % this.#ring.length]!);
    this.#oldest = 0;
    this.#used = 0;
    this.#busy = this.#append(this.#lines.bytes, lines).finally(() => {
      this.#busy = null;
    });
    return this.#busy;
  }

  /** Writes the buffered records and closes. */
  async close(): Promise<void> {
    this.#cancel();
    if (this.#busy !== null) await this.#busy;
    // Records that come meanwhile are counted as dropped.
    this.#closed = true;
    await this.flush();
    this.dropped += this.waiting;
    this.waiting = 0;
    await this.#file?.close().catch(() => undefined);
    this.#file = null;
  }

  async #append(fresh: Buffer, freshLines: number): Promise<void> {
    let data = this.waiting === 0 ? fresh : Buffer.concat([this.#kept, fresh]);
    let lines = this.waiting + freshLines;
    const tooMany = lines - this.#capacity;
    if (tooMany > 0) {
      data = data.subarray(lineStart(data, tooMany));
      lines -= tooMany;
      this.dropped += tooMany;
    }
    const done = data.length === 0 ? 0 : await this.#write(data);
    const left = done === data.length ? 0 : linesIn(data.subarray(done));
    this.written += lines - left;
    // A copy, so that the written part can be freed.
    this.#kept = Buffer.from(data.subarray(done));
    this.waiting = left;
    const missing = this.dropped - this.#droppedReported;
    if (left > 0 || missing === 0) return;
    const at = new Date().toISOString();
    const notice = { at, who: 'audit', why: 'buffer_full', droppedLines: missing };
    const line = Buffer.from(`${JSON.stringify(notice)}\n`, 'utf8');
    if ((await this.#write(line)) > 0) this.#droppedReported += missing;
  }

  /** Appends whole lines; returns the number of bytes that are in the file. */
  async #write(data: Buffer): Promise<number> {
    let done = 0;
    try {
      await this.#closeIfMoved();
      this.#file ??= await this.#open();
      while (done < data.length) {
        const { bytesWritten } = await this.#file.write(data, done);
        if (bytesWritten === 0) throw new Error('nothing was written');
        done += bytesWritten;
      }
      this.#size += done;
      if (this.#size >= this.#options.rotateBytes) await this.#rotate();
      if (this.failure !== null)
        this.#logger.info({ dropped: this.dropped }, 'the audit log is written again');
      this.failure = null;
    } catch (error) {
      await this.#failed(error, data, done);
      if (done < data.length) done = data.subarray(0, done).lastIndexOf(LINE_END) + 1;
    }
    return done;
  }

  /** Leaves whole lines behind, and a closed file. */
  async #failed(error: unknown, data: Buffer, done: number): Promise<void> {
    const cause = messageOf(error);
    const { path } = this.#options;
    const fields = { event: 'audit_log_failed', path, error: cause, dropped: this.dropped };
    if (this.failure === null)
      this.#log.error('audit', performance.now(), fields, 'the audit log cannot be written');
    this.failure = cause;
    this.failures++;
    const file = this.#file;
    this.#file = null;
    if (file === null) return;
    const whole = data.subarray(0, done).lastIndexOf(LINE_END) + 1;
    // If this fails too, the next open ends the incomplete line.
    if (done < data.length && whole < done) await cutEnd(file, done - whole).catch(() => undefined);
    await file.close().catch(() => undefined);
  }

  /** Another program may have deleted or moved the file: what is written there would be lost. */
  async #closeIfMoved(): Promise<void> {
    const file = this.#file;
    if (file === null) return;
    const [at, own] = await Promise.all([stat(this.#options.path).catch(() => null), file.stat()]);
    if (at?.ino === own.ino && at.dev === own.dev) return;
    this.#file = null;
    await file.close();
    this.#logger.warn(
      { event: 'audit_log_moved', path: this.#options.path },
      'the audit log was deleted or moved: begun again',
    );
  }

  async #open(): Promise<FileHandle> {
    await mkdir(dirname(this.#options.path), { recursive: true, mode: 0o700 });
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
    const file = await open(this.#options.path, flags, 0o600);
    try {
      // An older file may have another mode; names of functions are private.
      await file.chmod(0o600);
      this.#size = (await file.stat()).size;
      // A crash in the middle of a line must not take the next record with it.
      if (this.#size > 0) {
        const { buffer } = await file.read(Buffer.alloc(1), 0, 1, this.#size - 1);
        if (buffer[0] !== LINE_END) await file.write('\n');
      }
    } catch (error) {
      // From version 26 on, Node ends a process that forgets one.
      await file.close().catch(() => undefined);
      throw error;
    }
    return file;
  }

  async #rotate(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close();
    const { path, files } = this.#options;
    await rm(`${path}.${files}`, { force: true });
    for (let i = files - 1; i >= 0; i--) {
      const from = i === 0 ? path : `${path}.${i}`;
      await rename(from, `${path}.${i + 1}`).catch(() => undefined);
    }
  }
}
