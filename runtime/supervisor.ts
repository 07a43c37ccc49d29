import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import {
  type Cancel,
  ERROR_PREFIX,
  EXIT,
  errorClass,
  type Millis,
  messageOf,
  millis,
  type Timers,
} from '../config/index.js';

export interface ChildSpec {
  readonly name: string;
  readonly command: string;
  /** A function: asked at each start. */
  readonly args: readonly string[] | (() => readonly string[]);
  readonly env?: Readonly<Record<string, string>>;
  /** Node children send `{ ready: true }` on their channel and end when it closes. */
  readonly channel: boolean;
  /** Resolves when a child without a channel is ready. `ended`: aborted when it has ended. */
  readonly probe?: (pid: number, ended: AbortSignal) => Promise<void>;
  /** Runs after an unexpected end, before the restart. */
  readonly afterDeath?: () => Promise<void>;
  /** How long it gets between SIGTERM and SIGKILL. */
  readonly stopMillis?: number;
  /**
   * Priority once it is ready, -20 (first) to 19, if this process may set it; absent: that of this
   * process. The start is a second of computing that must not delay others.
   */
  readonly nice?: number;
}

export interface SupervisorListener {
  log(child: string, text: string): void;
  changed(child: string, state: ChildState, detail: string): void;
}

export type ChildState = 'starting' | 'ready' | 'restarting' | 'stopping' | 'stopped';

const FIRST_BACKOFF = 250;
const MAX_BACKOFF = 15_000;
/** A child that runs without an error and is not ready by then is given up. */
const SLOWEST_START_SECONDS = 300;
/** A child that lived this long starts again at once. */
const GOOD_LIFE = 10_000;

class Child {
  readonly spec: ChildSpec;
  readonly #listener: SupervisorListener;
  readonly #timers: Timers;
  #process: ChildProcess | null = null;
  #backoff = FIRST_BACKOFF;
  #startedAt = 0;
  #stopping = false;
  #cancelRestart: Cancel | null = null;
  #ready: (() => void) | null = null;
  #refuse: ((error: Error) => void) | null = null;
  #lastLine = '';
  #lastError = '';
  #gone: Promise<void> = Promise.resolve();
  /** Work after the end of the process. */
  #afterwards: Promise<void> = Promise.resolve();
  /** What the cleanup after its last end could not do. */
  #notCleared: string | null = null;
  #isRunning = false;
  /** Signals for the next time that it is ready. */
  #early: NodeJS.Signals[] = [];
  restarts = 0;
  /** Address that it reported when it was ready. */
  address: string | null = null;

  constructor(spec: ChildSpec, listener: SupervisorListener, timers: Timers) {
    this.spec = spec;
    this.#listener = listener;
    this.#timers = timers;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /**
   * Resolves when the child is ready; afterwards it is always restarted. Rejects after `giveUp` if
   * it has ended or reported an error; otherwise it is only slow, and the wait continues.
   */
  async start(giveUp: Millis): Promise<void> {
    const { name } = this.spec;
    const begun = performance.now();
    let cancel: Cancel = () => undefined;
    const ready = new Promise<void>((resolve, reject) => {
      this.#ready = resolve;
      this.#refuse = reject;
      const check = (): void => {
        const seconds = Math.round((performance.now() - begun) / 1000);
        if (this.restarts > 0 || this.#lastError !== '' || seconds >= SLOWEST_START_SECONDS) {
          const why = this.#lastError || this.#lastLine || 'no output yet';
          reject(new ChildNotReadyError(name, `not ready after ${seconds} s: ${why}`));
          return;
        }
        this.#listener.changed(
          name,
          'starting',
          `not ready after ${seconds} s: ${this.#lastLine || 'no output yet'}`,
        );
        cancel = this.#timers.after(giveUp, check);
      };
      cancel = this.#timers.after(giveUp, check);
    });
    this.#spawn();
    try {
      await ready;
    } finally {
      cancel();
    }
  }

  #spawn(): void {
    const { name, command, args, env, channel } = this.spec;
    this.#listener.changed(name, 'starting', '');
    this.#startedAt = performance.now();
    // A group of its own: a Ctrl-C at the terminal reaches the supervisor alone, which stops the
    // children in order, and what a child has started (tcpdump) can be ended with it.
    const child = spawn(command, typeof args === 'function' ? args() : args, {
      detached: true,
      env: { ...process.env, ...env },
      stdio: channel ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) this.#follow(stream);
    child.on('message', (message) => {
      const { ready, address } = message as { ready?: unknown; address?: unknown };
      if (ready !== true) return;
      this.address = typeof address === 'string' ? address : null;
      this.#isReady();
    });
    const ended = new AbortController();
    this.#gone = new Promise((resolve) => {
      const end = (detail: string, clean = false): void => {
        if (ended.signal.aborted) return;
        ended.abort();
        this.#killGroup(child, 'SIGKILL');
        this.#process = null;
        this.#isRunning = false;
        this.#afterwards = this.#died(detail, clean);
        resolve();
      };
      child.on('error', (error) => end(messageOf(error)));
      child.on('exit', (code, signal) => {
        // Wrong usage or configuration stays wrong: trying again only hides it.
        if (code === EXIT.usage) this.#refuse?.(new ChildNotReadyError(name, this.#lastLine));
        end(signal ? `killed by ${signal}` : `exit code ${code}`, code === 0);
      });
    });
    if (child.pid === undefined) return;
    this.spec.probe?.(child.pid, ended.signal).then(
      () => ended.signal.aborted || this.#isReady(),
      (error) => ended.signal.aborted || this.#listener.log(name, `not ready: ${messageOf(error)}`),
    );
  }

  #isReady(): void {
    const { name, nice } = this.spec;
    if (nice !== undefined && this.pid !== undefined) prioritize(this.pid, nice);
    this.#listener.changed(name, 'ready', '');
    this.#ready?.();
    this.#ready = null;
    this.#refuse = null;
    this.#isRunning = true;
    for (const signal of this.#early) this.signal(signal);
    this.#early = [];
  }

  #follow(stream: NodeJS.ReadableStream | null): void {
    let rest = '';
    stream?.setEncoding('utf8');
    stream?.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = (lines.pop() ?? '').slice(-16_384);
      for (const line of lines) {
        if (line !== '') this.#lastLine = line;
        if (line.startsWith(ERROR_PREFIX)) this.#lastError = line.slice(ERROR_PREFIX.length);
        this.#listener.log(this.spec.name, line);
      }
    });
    stream?.on('end', () => {
      if (rest !== '') this.#listener.log(this.spec.name, rest);
    });
  }

  async #died(detail: string, clean: boolean): Promise<void> {
    if (this.#stopping) {
      // It could not do itself what it does when it is stopped.
      if (clean) this.#notCleared = null;
      else await this.#clearUp();
      this.#listener.changed(this.spec.name, 'stopped', detail);
      return;
    }
    this.restarts++;
    this.#listener.changed(this.spec.name, 'restarting', detail);
    await this.#clearUp();
    if (this.#stopping) return;
    if (performance.now() - this.#startedAt > GOOD_LIFE) this.#backoff = FIRST_BACKOFF;
    this.#cancelRestart = this.#timers.after(millis(this.#backoff), () => this.#spawn());
    this.#backoff = Math.min(this.#backoff * 2, MAX_BACKOFF);
  }

  async #clearUp(): Promise<void> {
    this.#notCleared = null;
    try {
      await this.spec.afterDeath?.();
    } catch (error) {
      this.#notCleared = messageOf(error);
      this.#listener.log(this.spec.name, `${ERROR_PREFIX}after its end: ${this.#notCleared}`);
    }
  }

  /** A child that starts gets it when it is ready: until it listens, a signal would end it. */
  signal(signal: NodeJS.Signals): void {
    if (this.#isRunning) this.#process?.kill(signal);
    else this.#early.push(signal);
  }

  /** Returns what the cleanup after its end could not do; null: nothing, or there was none. */
  async stop(): Promise<string | null> {
    this.#stopping = true;
    // End the wait and the timer of `start`.
    this.#refuse?.(new ChildNotReadyError(this.spec.name, 'stopped before it was ready'));
    this.#cancelRestart?.();
    const child = this.#process;
    if (!child) {
      // A restore may still be under way.
      await this.#afterwards;
      return this.#notCleared;
    }
    this.#listener.changed(this.spec.name, 'stopping', '');
    child.kill('SIGTERM');
    const cancel = this.#timers.after(millis(this.spec.stopMillis ?? 5000), () =>
      this.#killGroup(child, 'SIGKILL'),
    );
    await this.#gone;
    cancel();
    await this.#afterwards;
    return this.#notCleared;
  }

  #killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // The whole group is gone already.
    }
  }
}

/** Starts children, restarts those that end, stops them in the reverse of their order. */
export class Supervisor {
  readonly #children: Child[];

  constructor(specs: readonly ChildSpec[], listener: SupervisorListener, timers: Timers) {
    this.#children = specs.map((spec) => new Child(spec, listener, timers));
  }

  /** Starts all at once; rejects with the first failure, as {@link Child.start} describes. */
  async start(giveUp: Millis): Promise<void> {
    await Promise.all(this.#children.map((child) => child.start(giveUp)));
  }

  pidOf(name: string): number | undefined {
    return this.#children.find((child) => child.spec.name === name)?.pid;
  }

  addressOf(name: string): string | null {
    return this.#children.find((child) => child.spec.name === name)?.address ?? null;
  }

  restarts(): Record<string, number> {
    return Object.fromEntries(this.#children.map((child) => [child.spec.name, child.restarts]));
  }

  signalAll(signal: NodeJS.Signals): void {
    for (const child of this.#children) if (child.spec.channel) child.signal(signal);
  }

  /** Returns what could not be cleaned up after children that did not end in good order. */
  async stop(): Promise<string[]> {
    const problems: string[] = [];
    for (const child of [...this.#children].reverse()) {
      const problem = await child.stop();
      if (problem !== null) problems.push(problem);
    }
    return problems;
  }
}

class ChildNotReadyError extends errorClass('GLN_CHILD_NOT_READY') {}

/**
 * Linux keeps a priority per thread, and counts it inside the session's autogroup only (sched(7)).
 * Without the right to set either, the default stays.
 */
function prioritize(pid: number, nice: number): void {
  for (const give of [
    () => threadsBelow(pid).forEach((thread) => void setPriority(thread, nice)),
    () => writeFileSync(`/proc/${pid}/autogroup`, String(nice), { flag: 'r+' }),
  ]) {
    try {
      give();
    } catch {
      // The child has ended, or this kernel has no autogroups.
    }
  }
}

/** Linux keeps a priority per thread. */
function threadsBelow(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const children = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
      .split(' ')
      .filter(Boolean);
    return [Number(thread), ...children.flatMap((child) => threadsBelow(Number(child)))];
  });
}
