import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type Cancel, type Millis, messageOf, millis, type Timers } from '../../../config/index.js';
import { type CaptureOptions, captureCommand } from './capture-command.js';
import { DropCounters } from './drop-counters.js';
import { type PacketSink, PcapStream } from './pcap.js';
import { makePipeFolder } from './pipe-folder.js';

export interface CaptureListener {
  readonly packet: PacketSink;
  /**
   * A capture is running, or has dropped nothing for a while after {@link dropped}: packets from
   * now on are seen.
   */
  listening(): void;
  /**
   * It ended by itself; it is started again after `delay`. `unavailable`: it never got as far as
   * listening.
   */
  ended(unavailable: boolean, detail: string, delay: Millis): void;
  /** The kernel dropped `count` more packets. Followed by {@link listening} once it drops none. */
  dropped(count: number): void;
  /** Counters that are no loss: drops by the interface, and counters that cannot be believed. */
  counted(interfaceDrops: number, ignored: number): void;
}

const FIRST_DELAY = millis(100);
const LONGEST_DELAY = millis(30_000);
/** A capture that ran this long begins again with the first delay when it ends. */
const STEADY = 10_000;
/** After a drop the capture is trusted again when its counters have stood still for this long. */
const QUIET = 1000;
/**
 * A tcpdump that has answered before and then leaves this many requests unanswered hangs: it is
 * stopped, or frozen with its cgroup.
 */
const MAX_UNANSWERED = 100;
const READ_BUFFER = 256 * 1024;
const LONGEST_LINE = 4096;
const TERMINATION = millis(1000);

/** One tcpdump on one bridge: started, watched, started again with growing delays until `stop`. */
export class Capture {
  readonly #interfaceName: string;
  readonly #options: CaptureOptions;
  readonly #listener: CaptureListener;
  readonly #timers: Timers;
  /**
   * tcpdump's packets are read into this one buffer: Node's streams would allocate 64 KiB a read.
   */
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BUFFER);
  #child: ChildProcess | null = null;
  #exited: Promise<void> = Promise.resolve();
  #socket: Socket | null = null;
  #retry: Cancel | null = null;
  #fail: ((detail: string) => void) | null = null;
  #delay: Millis = FIRST_DELAY;
  #counters = new DropCounters();
  /** When the kernel dropped last, ms; NaN: nothing since the capture is trusted. */
  #droppedAt = Number.NaN;
  /** It has reported its counters before: without permission to signal it there are none. */
  #answers = false;
  #unanswered = 0;
  #stopped = false;

  constructor(
    interfaceName: string,
    options: CaptureOptions,
    timers: Timers,
    listener: CaptureListener,
  ) {
    this.#interfaceName = interfaceName;
    this.#options = options;
    this.#timers = timers;
    this.#listener = listener;
  }

  /** Process id of the running tcpdump, for its own accounting; null while there is none. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  start(): void {
    this.#retry = null;
    if (this.#stopped) return;
    const began = performance.now();
    let ready = false;
    let over = false;
    const pcap = new PcapStream(this.#listener.packet);
    const fail = (detail: string): void => {
      if (over) return;
      over = true;
      this.#child?.kill('SIGKILL');
      this.#child = null;
      this.#socket?.destroy();
      this.#socket = null;
      if (this.#stopped) return;
      if (performance.now() - began > STEADY) this.#delay = FIRST_DELAY;
      const delay = this.#delay;
      this.#delay = millis(Math.min(LONGEST_DELAY, delay * 2));
      this.#retry = this.#timers.after(delay, () => this.start());
      this.#listener.ended(!ready, detail, delay);
    };
    this.#fail = fail;
    const read = (length: number): boolean => {
      if (over) return false;
      pcap.push(this.#buffer, length);
      if (pcap.state === 'broken') fail(`tcpdump's output cannot be read: ${pcap.reason}`);
      else if (!ready && pcap.state === 'packets') {
        ready = true;
        this.#listener.listening();
      }
      return !over;
    };
    this.#openPipe(read, (error, end) => {
      if (error !== null || end === null) {
        end?.destroy();
        fail(`no pipe for tcpdump: ${messageOf(error)}`);
        return;
      }
      if (this.#stopped) {
        end.destroy();
        this.#socket?.destroy();
        return;
      }
      this.#spawn(end, fail);
      end.destroy();
    });
  }

  /** Requests tcpdump's counters; the listener gets the drops since the last time. */
  askForDrops(): void {
    if (this.#unanswered >= MAX_UNANSWERED) this.#fail?.('tcpdump does not answer any more');
    else if (this.#child?.kill('SIGUSR1') && this.#answers) this.#unanswered++;
  }

  /** Resolves when no process is left. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retry?.();
    this.#retry = null;
    const child = this.#child;
    this.#child = null;
    child?.kill('SIGTERM');
    const force = this.#timers.after(TERMINATION, () => child?.kill('SIGKILL'));
    await this.#exited;
    force();
    this.#socket?.destroy();
    this.#socket = null;
  }

  #spawn(output: Socket, fail: (detail: string) => void): void {
    const command = captureCommand(this.#interfaceName, this.#options);
    let stderrText = '';
    this.#counters = new DropCounters();
    this.#droppedAt = Number.NaN;
    this.#answers = false;
    this.#unanswered = 0;
    let child: ChildProcess;
    try {
      child = spawn(command.file, command.args, { stdio: ['ignore', output, 'pipe'] });
    } catch (error) {
      fail(messageOf(error));
      return;
    }
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderrText = (stderrText + text).slice(-LONGEST_LINE);
      stderrText = this.#readCounters(stderrText);
    });
    // Not only a start that fails: Node reports each signal that may not be sent here, too,
    // `fail`'s own among them.
    child.on('error', (error) => fail(messageOf(error)));
    child.stderr?.on('error', () => undefined);
    // `close` comes after the last of stderr, which has the reason.
    child.once('close', (code, signal) => {
      fail(`tcpdump ended (${signal ?? `code ${code}`})${reasonIn(stderrText)}`);
    });
  }

  /**
   * Removes the lines with counters; returns the other text, which has the reason of its end.
   */
  #readCounters(text: string): string {
    const end = text.lastIndexOf('\n');
    if (end < 0) return text;
    let kernel = 0;
    let answered = false;
    for (const line of text.slice(0, end).split('\n')) {
      const drops = this.#counters.read(line);
      if (drops === null) continue;
      answered = true;
      kernel += drops.kernel;
      if (drops.interface + drops.ignored > 0)
        this.#listener.counted(drops.interface, drops.ignored);
    }
    if (!answered) return text;
    this.#answers = true;
    this.#unanswered = 0;
    const now = performance.now();
    if (kernel > 0) {
      this.#droppedAt = now;
      this.#listener.dropped(kernel);
    } else if (now - this.#droppedAt >= QUIET) {
      this.#droppedAt = Number.NaN;
      this.#listener.listening();
    }
    return text.slice(end + 1);
  }

  /**
   * A pipe whose reading end uses the static buffer. Node offers that for sockets it connects
   * itself only, so both ends meet at a socket in a folder with access for this user only, which is
   * gone as soon as they have.
   */
  #openPipe(
    read: (length: number) => boolean,
    done: (error: unknown, end: Socket | null) => void,
  ): void {
    let folder: string;
    try {
      folder = makePipeFolder();
    } catch (error) {
      done(error, null);
      return;
    }
    const path = join(folder, 'pcap');
    const server = createServer({ pauseOnConnect: true });
    let finished = false;
    const finish = (error: unknown, end: Socket | null): void => {
      if (finished) {
        end?.destroy();
        return;
      }
      finished = true;
      server.close();
      rmSync(folder, { recursive: true, force: true });
      done(error, end);
    };
    server.on('error', (error) => finish(error, null));
    server.once('connection', (end) => {
      end.on('error', () => undefined);
      finish(null, end);
    });
    server.listen(path, () => {
      const socket = connect({
        path,
        onread: { buffer: this.#buffer, callback: (length) => read(length) },
      });
      socket.on('error', (error) => finish(error, null));
      this.#socket = socket;
    });
  }
}

/**
 * The last line, with the one before it if it continues in parentheses, as libpcap's errors do.
 */
function reasonIn(stderrText: string): string {
  const lines = stderrText.trim().split('\n');
  const last = lines.pop() ?? '';
  const reason = last.startsWith('(') ? `${lines.pop() ?? ''} ${last}`.trim() : last;
  return reason === '' ? '' : `: ${reason}`;
}
