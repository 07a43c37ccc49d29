import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../config/index.js';

/** One long-lived child, because a fork for each ping would pause the event loop. */
const RELAY = 'while IFS= read -r line; do systemd-notify "$line"; done';

const MAX_BACKLOG = 16 * 1024;

/** Pings per timeout of the watchdog. */
const PINGS = 3;

/**
 * Reports the state of the service to systemd (by `systemd-notify`: Node has no datagram sockets of
 * this kind). The unit needs `NotifyAccess=all`, because a child sends.
 */
export class SystemdNotifier {
  readonly #relay: ChildProcess;
  readonly #clock: Clock;
  /** Timeout of the watchdog, ms; NaN: none. */
  readonly #watchdog: number;
  #pinged = Number.NEGATIVE_INFINITY;

  /** Null without systemd. Removes the variables from `env`, so that no child inherits them. */
  static from(env: NodeJS.ProcessEnv, clock: Clock): SystemdNotifier | null {
    const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = env;
    delete env.NOTIFY_SOCKET;
    delete env.WATCHDOG_USEC;
    delete env.WATCHDOG_PID;
    if (NOTIFY_SOCKET === undefined || NOTIFY_SOCKET === '') return null;
    const isForUs = WATCHDOG_PID === undefined || Number(WATCHDOG_PID) === process.pid;
    const watchdogMillis = isForUs ? Number(WATCHDOG_USEC ?? Number.NaN) / 1000 : Number.NaN;
    return new SystemdNotifier({ ...env, NOTIFY_SOCKET }, watchdogMillis, clock);
  }

  private constructor(env: NodeJS.ProcessEnv, watchdog: number, clock: Clock) {
    this.#clock = clock;
    this.#watchdog = watchdog;
    this.#relay = spawn('/bin/sh', ['-c', RELAY], { env, stdio: ['pipe', 'ignore', 'ignore'] });
    // If it fails, systemd notices the missing pings.
    this.#relay.on('error', () => undefined);
    this.#relay.stdin?.on('error', () => undefined);
    this.#relay.unref();
  }

  /** Extends the watchdog of the unit for a loop that beats only every `stepMillis`. */
  expectSteps(stepMillis: number): void {
    const needed = PINGS * stepMillis;
    if (needed > this.#watchdog) this.#send(`WATCHDOG_USEC=${needed * 1000}`);
  }

  ready(status: string): void {
    this.#send('READY=1', `STATUS=${status}`);
  }

  reloading(): void {
    this.#send('RELOADING=1');
  }

  stopping(): void {
    this.#send('STOPPING=1', 'STATUS=stopping');
  }

  /** From the loop that must make progress, and from no timer of its own. */
  beat(): void {
    const now = this.#clock.monotonic();
    if (!(now - this.#pinged >= this.#watchdog / PINGS)) return;
    this.#pinged = now;
    this.#send('WATCHDOG=1');
  }

  #send(...assignments: string[]): void {
    // A relay that hangs gets no more to hold; systemd notices by the silence.
    if ((this.#relay.stdin?.writableLength ?? 0) > MAX_BACKLOG) return;
    this.#relay.stdin?.write(
      `${assignments.map((each) => each.replace(/\s+/g, ' ')).join('\n')}\n`,
    );
  }
}
