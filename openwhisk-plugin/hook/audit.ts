import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from '../../broker/index.js';
import { type Cancel, type Micros, messageOf, millis, type Timers } from '../../config/index.js';

/** What a record is about. */
export type AuditResource = 'cpu.shares' | 'cpu.quota' | 'memory' | 'memory.low' | 'mode' | 'oom' | 'none';

/**
 * One line of the audit log, as numbers and references: it is formatted later, away from the hot path. -1 = does not apply.
 * Shares are cgroup-v1 weights, quotas millicores (0: no limit), memory bytes, durations microseconds.
 */
export class AuditRecord {
  at = 0 as Micros;
  /** Who: `safeguard`, `policy:<name>`, `agent:<manager>@<host>`, `boost`, `restore`, `drift`, `operator:<name>`, `loan`. */
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
  wanted = -1;
  low = -1;
  high = -1;
  rangeReason = '';
  granted = -1;
  old = -1;
  new = -1;
  readBack = -1;
  result = '';
  duration = -1;

  /** @internal */
  reset(at: Micros): void {
    this.at = at;
    this.who = this.why = this.container = this.containerName = this.action = this.version = this.activation = '';
    this.mode = this.rangeReason = this.result = '';
    this.resource = 'none';
    this.wanted = this.low = this.high = this.granted = this.old = this.new = this.readBack = this.duration = -1;
  }
}

export interface AuditOptions {
  readonly path: string;
  readonly rotateBytes: number;
  /** Rotated files that are kept: `<path>.1` is the youngest. */
  readonly files: number;
  /** Records held until the next flush; of more the oldest are dropped and counted. */
  readonly capacity?: number;
  readonly flushMillis?: number;
  /** The real time of day of a stamp, on a simulated host; absent: they are the same. */
  readonly timeOfDay?: (at: Micros) => Micros;
}

/** Where the hook's records go; a ring between the hot path and the file. */
export interface AuditLog {
  /** A blank record to fill in at once; it is written with the next flush. Never blocks and never fails. */
  next(at: Micros): AuditRecord;
  readonly dropped: number;
  readonly written: number;
  /** Writes out what is buffered and closes. */
  close(): Promise<void>;
}

/** JSON of texts that come again and again (names, identifiers, reasons): two lines an activation make quoting them the log's main cost. */
const quotes = new Map<string, string>();
const QUOTES = 4096;
const LINE_END = 10;

function quoted(text: string): string {
  let json = quotes.get(text);
  if (json === undefined) {
    if (quotes.size >= QUOTES) quotes.clear();
    json = JSON.stringify(text);
    quotes.set(text, json);
  }
  return json;
}

function put(parts: string[], key: string, value: string | number): void {
  if (typeof value === 'number') {
    if (value !== -1) parts.push(`"${key}":${Number.isFinite(value) ? value : 'null'}`);
  } else if (value !== '') parts.push(`"${key}":${quoted(value)}`);
}

/** One record as one JSON line. Keys that do not apply are absent. */
export function auditLine(record: AuditRecord): string {
  const parts: string[] = [`"at":"${new Date(record.at / 1000).toISOString()}"`];
  put(parts, 'who', record.who);
  put(parts, 'why', record.why);
  put(parts, 'resource', record.resource);
  put(parts, 'action', record.action);
  put(parts, 'version', record.version);
  // Never the same twice.
  if (record.activation !== '') parts.push(`"activation":${JSON.stringify(record.activation)}`);
  put(parts, 'container', record.container);
  put(parts, 'name', record.containerName);
  put(parts, 'mode', record.mode);
  put(parts, 'wanted', record.wanted);
  if (record.low !== -1 || record.high !== -1) parts.push(`"allowed":[${record.low},${record.high}]`);
  put(parts, 'allowedReason', record.rangeReason);
  put(parts, 'granted', record.granted);
  put(parts, 'old', record.old);
  put(parts, 'new', record.new);
  put(parts, 'readBack', record.readBack);
  put(parts, 'result', record.result);
  put(parts, 'durationMicros', record.duration < 0 ? -1 : Math.round(record.duration));
  return `{${parts.join(',')}}\n`;
}

/** JSON lines in a file of mode 0600, appended asynchronously, rotated by size. */
export class FileAuditLog implements AuditLog {
  readonly #options: AuditOptions;
  readonly #logger: Logger;
  readonly #ring: AuditRecord[] = [];
  readonly #afterTheEnd = new AuditRecord();
  readonly #cancel: Cancel;
  /** Of the ring: where the oldest record is that is not written yet, and how many there are. */
  #oldest = 0;
  #used = 0;
  #file: FileHandle | null = null;
  #size = 0;
  #busy: Promise<void> | null = null;
  #dropped = 0;
  #droppedSaid = 0;
  #written = 0;
  #failing = false;
  #closed = false;

  constructor(options: AuditOptions, timers: Timers, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    this.#cancel = timers.every(millis(options.flushMillis ?? 200), () => void this.flush());
  }

  get dropped(): number {
    return this.#dropped;
  }
  get written(): number {
    return this.#written;
  }

  next(at: Micros): AuditRecord {
    if (this.#closed) {
      this.#dropped++;
      this.#afterTheEnd.reset(at);
      return this.#afterTheEnd;
    }
    if (this.#used >= (this.#options.capacity ?? 8192)) {
      // The file takes nothing just now: what was done last is worth more than what was done first.
      this.#dropped++;
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

  /** One flush at a time; formats all that is buffered and appends it in one write. */
  flush(): Promise<void> {
    if (this.#busy !== null) return this.#busy;
    if (this.#used === 0 && this.#dropped === this.#droppedSaid) return Promise.resolve();
    let text = '';
    const lines = this.#used;
    for (let i = 0; i < lines; i++) text += auditLine(this.#ring[(this.#oldest + i) % this.#ring.length]!);
    this.#oldest = 0;
    this.#used = 0;
    const missing = this.#dropped - this.#droppedSaid;
    if (missing > 0)
      text += `{"at":"${new Date().toISOString()}","who":"audit","why":"buffer_full","droppedLines":${missing}}\n`;
    this.#droppedSaid = this.#dropped;
    this.#busy = this.#append(text, lines).finally(() => {
      this.#busy = null;
    });
    return this.#busy;
  }

  async close(): Promise<void> {
    this.#cancel();
    if (this.#busy !== null) await this.#busy;
    await this.flush();
    this.#closed = true;
    await this.#file?.close();
    this.#file = null;
  }

  async #append(text: string, lines: number): Promise<void> {
    try {
      this.#file ??= await this.#open();
      const data = Buffer.from(text, 'utf8');
      await this.#file.write(data);
      this.#size += data.length;
      this.#written += lines;
      this.#failing = false;
      if (this.#size >= this.#options.rotateBytes) await this.#rotate();
    } catch (error) {
      this.#dropped += lines;
      if (!this.#failing) this.#logger.error({ error: messageOf(error) }, 'the audit log cannot be written');
      this.#failing = true;
      await this.#file?.close().catch(() => undefined);
      this.#file = null;
    }
  }

  async #open(): Promise<FileHandle> {
    await mkdir(dirname(this.#options.path), { recursive: true, mode: 0o700 });
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
    const file = await open(this.#options.path, flags, 0o600);
    // An older file may have been made with another mode; names of functions are nobody else's business.
    await chmod(this.#options.path, 0o600);
    this.#size = (await file.stat()).size;
    // A crash in the middle of a line must not take the next record with it.
    if (this.#size > 0) {
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, this.#size - 1);
      if (buffer[0] !== LINE_END) await file.write('\n');
    }
    return file;
  }

  async #rotate(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
    const { path, files } = this.#options;
    await rm(`${path}.${files}`, { force: true });
    for (let i = files - 1; i >= 0; i--) {
      const from = i === 0 ? path : `${path}.${i}`;
      await rename(from, `${path}.${i + 1}`).catch(() => undefined);
    }
  }
}
