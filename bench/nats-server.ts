import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../config/index.js';
import { natsServerArguments, natsServerPort } from '../runtime/index.js';

export interface LaunchOptions {
  /** Path of the nats-server binary, or its name on PATH. */
  readonly binary: string;
  /** Folder of JetStream's files, which survive restarts. */
  readonly storeDirectory: string;
  /** Port on the loopback, or -1 for any free one. */
  readonly port?: number;
  /** More arguments, such as a configuration with users. */
  readonly args?: readonly string[];
  readonly startTimeoutMillis?: number;
}

export interface LaunchedServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** The last lines of its log, oldest first. */
  log(): readonly string[];
  /** Resolves with the exit code when the server has ended; null after a signal. */
  readonly ended: Promise<number | null>;
  stop(): Promise<void>;
}

const LOG_LINES = 200;
const LINE_MAX = 500;
const STOP_GRACE_MILLIS = 3000;

/** The last lines of a child's output, bounded in number and length. */
class TailLog {
  readonly lines: string[] = [];
  #rest = '';

  add(chunk: string): void {
    const parts = (this.#rest + chunk).split('\n');
    this.#rest = (parts.pop() ?? '').slice(-LINE_MAX);
    for (const part of parts) this.lines.push(part.slice(0, LINE_MAX));
    if (this.lines.length > LOG_LINES) this.lines.splice(0, this.lines.length - LOG_LINES);
  }
}

/**
 * Starts nats-server with JetStream as a child, on the loopback only. The server picks a free port
 * and writes it to a file, so there is no race for one.
 */
export async function launchNatsServer(options: LaunchOptions): Promise<LaunchedServer> {
  const portsDirectory = mkdtempSync(join(tmpdir(), 'gleaner-nats-'));
  const clean = (): void => rmSync(portsDirectory, { recursive: true, force: true });
  const { port: wanted = -1, storeDirectory } = options;
  const args = [
    ...natsServerArguments(wanted, storeDirectory, portsDirectory),
    ...(options.args ?? []),
  ];
  const log = new TailLog();
  let child: ChildProcess;
  try {
    child = spawn(options.binary, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    clean();
    throw notStarted(options.binary, error);
  }
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8');
    stream?.on('data', (chunk: string) => log.add(chunk));
  }
  let spawnError: Error | null = null;
  let done = false;
  const ended = new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      spawnError = error;
      done = true;
      resolve(null);
    });
    child.once('close', (code) => {
      done = true;
      resolve(code);
    });
  });
  const stop = async (): Promise<void> => {
    if (!done) {
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MILLIS);
      await ended;
      clearTimeout(force);
    }
    clean();
  };

  const lastLines = () => log.lines.slice(-3).join(' | ');
  const deadline = performance.now() + (options.startTimeoutMillis ?? 10_000);
  let port: number | null = null;
  while (port === null) {
    if (spawnError) {
      clean();
      throw notStarted(options.binary, spawnError);
    }
    if (done) {
      clean();
      throw new Error(`nats-server exited before it was ready: ${lastLines()}`);
    }
    if (performance.now() > deadline) {
      await stop();
      throw new Error(`nats-server was not ready in time: ${lastLines()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
    port = natsServerPort(portsDirectory, child.pid!);
  }
  // The server removes its ports file when it ends, and ignores that the file is gone.
  const server = {
    url: `nats://127.0.0.1:${port}`,
    port,
    pid: child.pid!,
    log: () => log.lines,
    ended,
    stop,
  };
  void ended.then(clean);
  return server;
}

function notStarted(binary: string, error: unknown): Error {
  return new Error(`cannot start ${binary}: ${messageOf(error)}`, { cause: error });
}
