import { fstatSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';

/** Lines for a slow reader or a full disk. Writing never waits and never throws. */
export interface LineOutput {
  /** `line`: with its end. False where it was dropped. */
  write(line: string): boolean;
  readonly written: number;
  readonly dropped: number;
  /** Bytes that the reader has not taken yet. */
  readonly pending: number;
  /** Resolves when nothing is pending, or after so long. */
  flush(maxMillis: number): Promise<void>;
}

/** A line that says how many are missing at its place. */
export type DroppedNotice = (dropped: number) => string;

const LINE_END = 10;

/** A full disk can cut a line: it counts as dropped, and the next one begins on its own line. */
export class FileLines implements LineOutput {
  readonly #descriptor: number;
  readonly #notice: DroppedNotice;
  readonly pending = 0;
  written = 0;
  dropped = 0;
  #reported = 0;
  #hasPartialLine = false;
  /** All that was written, cut lines too. */
  bytes = 0;

  constructor(descriptor: number, notice: DroppedNotice) {
    this.#descriptor = descriptor;
    this.#notice = notice;
  }

  write(line: string): boolean {
    const missing = this.dropped - this.#reported;
    const reported = missing === 0 || this.#append(this.#notice(missing));
    if (reported) this.#reported += missing;
    if (!reported || !this.#append(line)) {
      this.dropped++;
      return false;
    }
    this.written++;
    return true;
  }

  async flush(): Promise<void> {
    // Written already, or dropped.
  }

  #append(line: string): boolean {
    const data = Buffer.from(this.#hasPartialLine ? `\n${line}` : line, 'utf8');
    let done = 0;
    try {
      while (done < data.length) {
        const length = writeSync(this.#descriptor, data, done);
        if (length === 0) break;
        done += length;
      }
    } catch {
      // Full, or no longer there: what is missing is counted.
    }
    this.bytes += done;
    if (done > 0) this.#hasPartialLine = data[done - 1] !== LINE_END;
    return done === data.length;
  }
}

/** Writes as far as the reader takes it; beyond a bound lines are dropped and counted. */
class StreamLines implements LineOutput {
  readonly #stream: Writable;
  readonly #maxBytes: number;
  readonly #notice: DroppedNotice;
  written = 0;
  dropped = 0;
  #reported = 0;

  constructor(stream: Writable, maxBytes: number, notice: DroppedNotice) {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    this.#notice = notice;
    neverWait(stream);
    // A reader that has gone: its lines are counted as dropped.
    stream.on('error', () => undefined);
    stream.on('drain', () => this.#report());
  }

  get pending(): number {
    return this.#stream.destroyed ? 0 : this.#stream.writableLength;
  }

  write(line: string): boolean {
    if (!this.#stream.writable || this.pending + line.length > this.#maxBytes) {
      this.dropped++;
      return false;
    }
    if (this.pending === 0) this.#report();
    this.#stream.write(line);
    this.written++;
    return true;
  }

  async flush(maxMillis: number): Promise<void> {
    const until = performance.now() + maxMillis;
    while (this.pending > 0 && performance.now() < until)
      await new Promise((next) => setTimeout(next, 5));
  }

  /** Once the reader is back. */
  #report(): void {
    const missing = this.dropped - this.#reported;
    if (missing === 0 || !this.#stream.writable) return;
    this.#reported = this.dropped;
    this.#stream.write(this.#notice(missing));
  }
}

/**
 * Node writes to a terminal synchronously, so that a terminal that was stopped (Ctrl-S) would stop
 * the process. Its handle can be told otherwise, by no public name; pipes and sockets are
 * asynchronous already.
 */
function neverWait(stream: Writable): void {
  const { _handle: handle } = stream as Writable & {
    _handle?: { setBlocking?: (on: boolean) => unknown } | null;
  };
  if ((stream as { isTTY?: boolean }).isTTY === true) handle?.setBlocking?.(false);
}

/** For one of this process's own streams, by what stands behind it. */
export function linesOf(
  stream: Writable & { readonly fd: number },
  maxBytes: number,
  notice: DroppedNotice,
): LineOutput {
  const stats = fstatSync(stream.fd);
  const isTerminal = (stream as { isTTY?: boolean }).isTTY === true;
  if (stats.isFile() || (stats.isCharacterDevice() && !isTerminal))
    return new FileLines(stream.fd, notice);
  return new StreamLines(stream, maxBytes, notice);
}
