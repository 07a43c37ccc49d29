import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { type Cancel, type Millis, messageOf, millis, type Timers } from '../../../config/index.js';
import { type CaptureOptions, captureCommand } from './capture-command.js';
import { DropCounters } from './drop-counters.js';
import { type PacketSink, PcapStream } from './pcap.js';
import { openPipe } from './pipe.js';

export interface CaptureListener {
  readonly packet: PacketSink;
  /** Packets from now on are seen: the capture runs, or drops no more after {@link dropped}. */
  listening(): void;
  /** It ended by itself and will be started again. `unavailable`: it never listened. */
  ended(unavailable: boolean, detail: string): void;
  /** The kernel dropped `count` more packets. */
  dropped(count: number): void;
  /** Counters that are no loss: drops by the interface, and counters that cannot be believed. */
  counted(interfaceDrops: number, ignored: number): void;
}

const FIRST_DELAY = millis(100);
const LONGEST_DELAY = millis(30_000);
/** A capture that ran this long begins again with the first delay when it ends. */
const STEADY = 10_000;
/** After a drop the capture is trusted again when its counters have not changed for this long. */
const QUIET = 1000;
/** A tcpdump that answered before and leaves this many regular requests unanswered hangs: 10 s. */
const MAX_UNANSWERED = 10;
/** Said once signals are handled, which before would end it. */
const HANDLES_SIGNALS = /^.*\blistening on .*\n/m;
/** A tcpdump that did not say it is asked for its counters after this long. */
const SIGNAL_GRACE = 1000;
const READ_BUFFER = 256 * 1024;
const LONGEST_LINE = 4096;
const TERMINATION = millis(1000);

/** One tcpdump on one bridge: started, watched, started again with growing delays until `stop`. */
export class Capture {
  readonly #interfaceName: string;
  readonly #options: CaptureOptions;
  readonly #timers: Timers;
  readonly #listener: CaptureListener;
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BUFFER);
  #child: ChildProcess | null = null;
  #exited: Promise<void> = Promise.resolve();
  #reader: Socket | null = null;
  #retry: Cancel | null = null;
  #fail: (detail: string) => void = () => undefined;
  #delay: Millis = FIRST_DELAY;
  #counters = new DropCounters();
  /** When the kernel dropped last, ms; NaN: nothing since the capture is trusted. */
  #droppedAt = Number.NaN;
  /** It has reported its counters before: without permission to signal it there are none. */
  #answers = false;
  #unanswered = 0;
  #handlesSignals = false;
  #readyAt = Number.NaN;
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
    if (this.#stopped) return;
    const began = performance.now();
    let isReady = false;
    let isOver = false;
    const fail = (detail: string): void => {
      if (isOver) return;
      isOver = true;
      this.#end('SIGKILL');
      if (this.#stopped) return;
      if (performance.now() - began > STEADY) this.#delay = FIRST_DELAY;
      this.#retry = this.#timers.after(this.#delay, () => this.start());
      this.#delay = millis(Math.min(LONGEST_DELAY, this.#delay * 2));
      this.#listener.ended(!isReady, detail);
    };
    this.#fail = fail;
    const pcap = new PcapStream(this.#listener.packet);
    const read = (length: number): boolean => {
      if (isOver) return false;
      pcap.push(this.#buffer, length);
      if (pcap.state === 'broken') fail(`tcpdump's output cannot be read: ${pcap.reason}`);
      else if (!isReady && pcap.state === 'packets') {
        isReady = true;
        this.#readyAt = performance.now();
        this.#listener.listening();
      }
      return !isOver;
    };
    openPipe(this.#buffer, read).then(
      ({ writer, reader }) => {
        this.#reader = reader;
        if (this.#stopped) reader.destroy();
        else this.#spawn(writer, fail);
        writer.destroy();
      },
      (error: unknown) => fail(`no pipe for tcpdump: ${messageOf(error)}`),
    );
  }

  /** Packets were dropped, and it is not known yet whether that is over. */
  get isDropping(): boolean {
    return !Number.isNaN(this.#droppedAt);
  }

  /**
   * Requests tcpdump's counters; the listener gets the drops since the last time. `isRegular`: once
   * a second, so that a tcpdump that hangs is noticed.
   */
  askForDrops(isRegular = true): void {
    // Between an end and the next start the counts are those of the tcpdump that ended.
    if (this.#child === null) return;
    if (!this.#handlesSignals && performance.now() - this.#readyAt < SIGNAL_GRACE) return;
    if (this.#unanswered >= MAX_UNANSWERED) this.#fail('tcpdump does not answer any more');
    else if (this.#child.kill('SIGUSR1') && this.#answers && isRegular) this.#unanswered++;
  }

  /** Resolves when no process is left. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retry?.();
    const child = this.#child;
    this.#end('SIGTERM');
    const force = this.#timers.after(TERMINATION, () => child?.kill('SIGKILL'));
    await this.#exited;
    force();
  }

  #end(signal: 'SIGKILL' | 'SIGTERM'): void {
    this.#child?.kill(signal);
    this.#child = null;
    this.#reader?.destroy();
    this.#reader = null;
  }

  #spawn(output: Socket, fail: (detail: string) => void): void {
    const command = captureCommand(this.#interfaceName, this.#options);
    let stderrText = '';
    this.#counters = new DropCounters();
    this.#droppedAt = Number.NaN;
    this.#answers = false;
    this.#unanswered = 0;
    this.#handlesSignals = false;
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
      if (!this.#handlesSignals) stderrText = this.#readStart(stderrText);
      stderrText = this.#readCounters(stderrText);
    });
    // Not only a failed start: Node also reports here each signal that may not be sent.
    child.on('error', (error) => fail(messageOf(error)));
    child.stderr?.on('error', () => undefined);
    // `close` comes after the last of stderr, which has the reason.
    child.once('close', (code, signal) => {
      fail(`tcpdump ended (${signal ?? `code ${code}`})${reasonIn(stderrText)}`);
    });
  }

  /** Removes what it says when it starts, which is no reason of its end. */
  #readStart(text: string): string {
    const said = HANDLES_SIGNALS.exec(text);
    if (said === null) return text;
    this.#handlesSignals = true;
    return text.slice(said.index + said[0].length);
  }

  /** Removes the lines with counters; returns the other text, which has the reason of its end. */
  #readCounters(text: string): string {
    const end = text.lastIndexOf('\n');
    if (end < 0) return text;
    let kernel = 0;
    let isAnswer = false;
    for (const line of text.slice(0, end).split('\n')) {
      const drops = this.#counters.read(line);
      if (drops === null) continue;
      isAnswer = true;
      kernel += drops.kernel;
      if (drops.interface + drops.ignored > 0)
        this.#listener.counted(drops.interface, drops.ignored);
    }
    if (!isAnswer) return text;
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
}

/** The last line, with the one before it if it continues in parentheses, as libpcap's errors do. */
function reasonIn(stderrText: string): string {
  const lines = stderrText.trim().split('\n');
  const last = lines.pop() ?? '';
  const reason = last.startsWith('(') ? `${lines.pop() ?? ''} ${last}`.trim() : last;
  return reason === '' ? '' : `: ${reason}`;
}
