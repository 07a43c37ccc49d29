import { rmSync, writeFileSync } from 'node:fs';
import {
  type Config,
  errorClass,
  type Millis,
  messageOf,
  millis,
  systemTimers,
} from '../../config/index.js';
import {
  type ChildState,
  makeFolder,
  runningUp,
  Supervisor,
  type statePaths,
  type UpState,
} from '../../runtime/index.js';
import { findProgram } from '../doctor/survey.js';
import type { LiveModel } from '../live-view.js';
import { partSpecs, passedArguments } from './children.js';
import { errorLineOf, LogFiles } from './log-files.js';
import { embeddedNats, NatsServerMissingError } from './nats-server.js';

/** After this time a failed part ends the start, and a slow one is reported. */
const START_TIMEOUT = millis(30_000);
const KEPT_NOTES = 4;

class AlreadyUpError extends errorClass('GLN_ALREADY_UP') {
  constructor(pid: number, folder: string) {
    super(folder, pid);
  }
}

export interface SessionInputs {
  readonly config: Config;
  readonly path: string | undefined;
  readonly flags: Readonly<Record<string, unknown>>;
  readonly paths: ReturnType<typeof statePaths>;
  /** Restores every user limit without the hook. */
  readonly restore: () => Promise<void>;
  /** One line for a person, as it happens. */
  readonly note: (text: string) => void;
}

/** All parts on one machine, as child processes. */
export class UpSession {
  readonly #inputs: SessionInputs;
  readonly #logs: LogFiles;
  readonly #notes: string[] = [];
  #nats: Supervisor | null = null;
  #parts: Supervisor | null = null;
  #stopping = false;
  /** Signals that came before there were parts. */
  readonly #early: NodeJS.Signals[] = [];
  servers: readonly string[] = [];

  constructor(inputs: SessionInputs) {
    this.#inputs = inputs;
    makeFolder(inputs.paths.folder);
    const other = runningUp(inputs.paths.running);
    if (other !== null) throw new AlreadyUpError(other.pid, inputs.paths.folder);
    this.#logs = new LogFiles(inputs.paths.logs, (child, error) =>
      this.#note(`cannot write the log of ${child}: ${messageOf(error)}`),
    );
  }

  async start(): Promise<void> {
    const { config, path, flags, paths } = this.#inputs;
    const listener = { log: this.#log, changed: this.#changed };
    this.servers = config.nats.servers;
    if (this.servers.length === 0) {
      const binary =
        config.nats.embedded.binary ?? findProgram('nats-server', ['.nats-server/bin']);
      if (binary === null) throw new NatsServerMissingError();
      const { spec, port } = embeddedNats(binary, paths.nats, findProgram('setpriv'));
      this.#nats = new Supervisor([spec], listener, systemTimers);
      await this.#nats.start(START_TIMEOUT);
      if (this.#stopping) return;
      this.servers = [`nats://127.0.0.1:${port()}`];
    }
    const state: UpState = {
      pid: process.pid,
      servers: [...this.servers],
      platform: config.platform,
    };
    writeFileSync(paths.running, `${JSON.stringify(state)}\n`, { mode: 0o600 });
    const passed = passedArguments(path, flags, this.servers);
    this.#parts = new Supervisor(
      partSpecs(config, passed, this.#inputs.restore),
      listener,
      systemTimers,
    );
    for (const signal of this.#early) this.#parts.signalAll(signal);
    await this.#parts.start(START_TIMEOUT);
  }

  get notes(): readonly string[] {
    return this.#notes;
  }

  get restarts(): number {
    const all = { ...this.#nats?.restarts(), ...this.#parts?.restarts() };
    return Object.values(all).reduce((sum, count) => sum + count, 0);
  }

  /** Address of the dashboard; null: not ready, or none. */
  get dashboard(): string | null {
    return this.#parts?.addressOf('dashboard') ?? null;
  }

  /** SIGHUP and SIGUSR2 go to every part, once it runs. */
  signal(signal: NodeJS.Signals): void {
    if (this.#parts === null) this.#early.push(signal);
    else this.#parts.signalAll(signal);
  }

  /** Returns why user limits may not be restored; empty: all are. */
  async stop(): Promise<readonly string[]> {
    this.#stopping = true;
    const problems = (await this.#parts?.stop()) ?? [];
    await this.#nats?.stop();
    rmSync(this.#inputs.paths.running, { force: true });
    this.#logs.close();
    return problems;
  }

  /** The part of the live view that this process knows. */
  frame(
    startedAt: Millis,
    now: Millis,
  ): Pick<LiveModel, 'platform' | 'upSeconds' | 'restarts' | 'notes' | 'dashboard'> {
    return {
      dashboard: this.dashboard,
      platform: this.#inputs.config.platform,
      upSeconds: Math.round((now - startedAt) / 1000),
      restarts: this.restarts,
      notes: this.#notes,
    };
  }

  readonly #log = (child: string, line: string): void => {
    this.#logs.write(child, line);
    const note = errorLineOf(child, line);
    if (note) this.#note(note);
  };

  readonly #changed = (child: string, state: ChildState, detail: string): void => {
    this.#logs.write(child, `--- ${state}${detail ? `: ${detail}` : ''}`);
    if (state === 'starting' && detail !== '') this.#note(`${child} is still starting: ${detail}`);
    if (state === 'restarting') this.#note(`${child} ended (${detail}) and is restarted`);
  };

  #note(text: string): void {
    this.#notes.push(text);
    if (this.#notes.length > KEPT_NOTES) this.#notes.shift();
    this.#inputs.note(text);
  }
}
