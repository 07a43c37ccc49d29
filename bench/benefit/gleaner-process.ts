import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { uncaughtFaults } from '../uncaught-faults.js';

const run = promisify(execFile);
const cli = fileURLToPath(new URL('../../cli/main.js', import.meta.url));

/** The part of `gleaner status` that benches read. */
export interface HookStatus {
  readonly host: { readonly containers: number };
  readonly counters: {
    readonly started: number;
    readonly clean: number;
    readonly tapDrops: number;
    readonly limitsWritten: number;
    readonly lagMicros: { readonly p50: number; readonly p99: number } | null;
  };
}

/**
 * A whole Gleaner (`gleaner up`) as an operator would run it beside an invoker, with a state folder
 * and a NATS server of its own. Writes are switched on and off while it runs: `enforce` against
 * `observe`, so that both arms carry the tap and the hook.
 */
export class GleanerProcess {
  readonly folder: string;
  readonly configFile: string;
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #output = '';
  #timeoutMillis = 30_000;

  /** `environment`: added to that of every part. */
  constructor(
    overrides: Record<string, unknown>,
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.#environment = environment;
    this.folder = mkdtempSync(join(tmpdir(), 'gleaner-bench-'));
    mkdirSync(join(this.folder, 'state'));
    this.configFile = join(this.folder, 'gleaner.yaml');
    const hook = {
      stateDir: join(this.folder, 'state'),
      ...(overrides.hook as object | undefined),
    };
    writeFileSync(
      this.configFile,
      stringify({ platform: 'host', mode: 'observe', ...overrides, hook }),
    );
  }

  /** Resolves when the hook answers. @param timeoutMillis also of each later command */
  async start(timeoutMillis = this.#timeoutMillis): Promise<void> {
    this.#timeoutMillis = timeoutMillis;
    const child = spawn(process.execPath, [cli, 'up', '--plain', '--config', this.configFile], {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: this.folder,
      env: { ...process.env, ...this.#environment },
    });
    this.#child = child;
    const keep = (chunk: Buffer): void => {
      this.#output = (this.#output + chunk.toString()).slice(-20_000);
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    const until = Date.now() + timeoutMillis;
    for (;;) {
      if (child.exitCode !== null)
        throw new Error(`gleaner up ended with ${child.exitCode}:\n${this.#output}`);
      // Before, the command cannot know where to ask.
      if (
        existsSync(join(this.folder, 'state', 'up.json')) &&
        (await this.command('status').then(
          () => true,
          () => false,
        ))
      )
        return;
      if (Date.now() > until) throw new Error(`gleaner up does not answer:\n${this.#output}`);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }

  async setWrites(on: boolean): Promise<void> {
    await this.command('mode', on ? 'enforce' : 'observe');
  }

  /** From the bundle, as users have it, in tests whose coverage is measured, too. */
  async command(...args: string[]): Promise<unknown> {
    const { stdout } = await run(
      process.execPath,
      [cli, ...args, '--config', this.configFile, '--output', 'json'],
      {
        env: { ...process.env, NODE_V8_COVERAGE: '' },
        cwd: this.folder,
        timeout: this.#timeoutMillis,
        maxBuffer: 64 * 1024 * 1024,
      },
    );
    return stdout.trim() === '' ? null : JSON.parse(stdout);
  }

  /** The hook's host view. */
  async status(): Promise<HookStatus> {
    const { hosts } = (await this.command('status')) as { hosts: HookStatus[] };
    const [host] = hosts;
    if (!host) throw new Error(`no hook answers:\n${this.#output}`);
    return host;
  }

  get output(): string {
    return this.#output;
  }

  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  /** Rejects if a part had an uncaught fault. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill('SIGTERM');
      await ended;
    }
    const faults = uncaughtFaults(join(this.folder, 'state'));
    rmSync(this.folder, { recursive: true, force: true });
    if (faults.length > 0) throw new Error(`faults that nothing caught:\n${faults.join('\n')}`);
  }
}
