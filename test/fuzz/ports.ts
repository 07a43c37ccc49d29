import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePort } from '../support/free-port.js';
import { until } from '../support/gleaner.js';
import { rawExchange, rawGet, statusesOf } from '../support/raw-http.js';
import { allowed } from '../support/slowness.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { type Exchange, makeExchange } from './exchange.js';
import { type FuzzTarget, must } from './fuzz.js';
import type { Mutator } from './mutator.js';

/** Every part that listens. */
const PORT_PARTS = ['hook', 'agents', 'aggregator', 'dashboard'] as const;
type PortPart = (typeof PORT_PARTS)[number];

/** A probe in between, that many inputs apart. */
const PROBE_EVERY = 5000;
/**
 * Of a peer that gets no answer: how long until it half closes. The server's own limits would be
 * seconds for each.
 */
const QUIET_MILLIS = 50;
/** And of one that has an answer: how long until it leaves. */
const ANSWERED_MILLIS = 10;
/** The server's longest limit before the answer is 10 s (docs/security.md). */
const WAIT_MILLIS = allowed(15_000);
const MAX_TEXT = 256 * 1024;
const BEARER = 'the token of a fuzzed dashboard';

/** A part as a process of its own, without NATS, and bytes on its port. */
export class PortTarget implements FuzzTarget {
  readonly name: string;
  /**
   * Below the 32 connections of a metrics port: beyond them a peer may be closed for another one.
   */
  readonly parallel = 28;
  readonly #part: PortPart;
  #child: ChildProcess | null = null;
  #output = '';
  #port = 0;
  #fed = 0;
  #answers = 0;
  #unanswered = 0;

  constructor(part: PortPart) {
    this.#part = part;
    this.name = `port-${part}`;
  }

  async open(): Promise<void> {
    const folder = temporaryFolder(`fuzz-${this.#part}`);
    const config = join(folder, 'gleaner.yaml');
    const tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, BEARER, { mode: 0o600 });
    this.#port = await freePort();
    const listen = `127.0.0.1:${this.#port}`;
    const others = { hook: null, agents: null, aggregator: null };
    writeFileSync(
      config,
      stringify({
        platform: 'simulated',
        hook: { stateDir: folder },
        metrics: this.#part === 'dashboard' ? others : { ...others, [this.#part]: listen },
        dashboard: { listen: this.#part === 'dashboard' ? listen : null, tokenFile },
        // Nothing listens there: only the hook can do without.
        nats: { servers: this.#part === 'hook' ? [] : ['nats://127.0.0.1:1'] },
      }),
    );
    const child = spawn(process.execPath, ['dist/cli/main.js', '--config', config, this.#part], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        this.#output = (this.#output + String(chunk)).slice(-20_000);
      });
    this.#child = child;
    const page = this.#part === 'dashboard' ? '/' : '/readyz';
    await until(() => this.#probe(page), 60_000, `${this.name} is ready`);
  }

  make(m: Mutator): Uint8Array {
    const own = `localhost:${this.#port}`;
    return Buffer.from(
      JSON.stringify(makeExchange(m, own, this.#part === 'dashboard' ? BEARER : null)),
    );
  }

  async check(input: Uint8Array): Promise<string> {
    const exchange = JSON.parse(Buffer.from(input).toString('utf8')) as Exchange;
    const { text, closed } = await talk(this.#port, exchange);
    this.#checkAlive();
    const statuses = statusesOf(text);
    for (const status of statuses) must(status < 500, `no answer is ${status}`);
    must(
      exchange.end !== 'wait' || closed || statuses.length > 0,
      'what is not answered is closed',
    );
    if (++this.#fed % PROBE_EVERY === 0) must(await this.#probe(), 'it answers in between');
    const last = statuses.at(-1);
    this.#answers += statuses.length;
    if (last === undefined) this.#unanswered++;
    if (last === undefined) return 'closed';
    return last < 300 ? 'accepted' : String(last);
  }

  get note(): string {
    const closed = `${this.#unanswered} connections closed without an answer`;
    return `${this.#answers} requests answered, ${closed}`;
  }

  /** MiB of the part's process that are in memory. */
  memory(): number {
    const status = readFileSync(`/proc/${this.#child!.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
  }

  /** It is asked once more, and ends in order. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#child = null;
    const ended = new Promise<number | null>((resolve) =>
      child.on('exit', (code) => resolve(code)),
    );
    try {
      if (child.exitCode !== null || child.signalCode !== null) return;
      must(await this.#probe(), 'it answers at the end');
      child.kill('SIGTERM');
      const code = await ended;
      must(code === 0, `it ended with ${code}: ${this.#output}`);
    } finally {
      child.kill('SIGKILL');
    }
  }

  #checkAlive(): void {
    const { exitCode, signalCode } = this.#child!;
    must(
      exitCode === null && signalCode === null,
      `the process lives: ${exitCode ?? signalCode}\n${this.#output}`,
    );
  }

  async #probe(path = this.#part === 'dashboard' ? '/' : '/livez'): Promise<boolean> {
    const host = `Host: localhost:${this.#port}\r\n`;
    const request = rawGet(path).replace(/Host: .*\r\n/, host);
    return (await rawExchange(this.#port, [request], { waitMillis: 5000 })).statuses[0] === 200;
  }
}

/**
 * As {@link rawExchange}, and quick: it leaves at the first answer, or half closes after some
 * silence.
 */
function talk(
  port: number,
  { pieces, pauseMillis, end }: Exchange,
): Promise<{ text: string; closed: boolean }> {
  return new Promise((resolve) => {
    let text = '';
    let quiet: NodeJS.Timeout | undefined;
    let finished = false;
    const socket: Socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const finish = (closed: boolean): void => {
      if (finished) return;
      finished = true;
      clearTimeout(quiet);
      clearTimeout(limit);
      if (end === 'reset' && !closed) socket.resetAndDestroy();
      else socket.destroy();
      resolve({ text, closed });
    };
    const limit = setTimeout(() => finish(false), WAIT_MILLIS);
    socket.on('error', () => undefined);
    socket.on('close', () => finish(true));
    socket.on('end', () => finish(true));
    socket.on('data', (data: Buffer) => {
      if (text.length < MAX_TEXT) text += data.toString('latin1');
      if (end !== 'answer') return;
      clearTimeout(quiet);
      quiet = setTimeout(() => finish(false), ANSWERED_MILLIS);
    });
    socket.once('connect', async () => {
      for (const [i, piece] of pieces.entries()) {
        if (i > 0 && pauseMillis > 0) await new Promise((next) => setTimeout(next, pauseMillis));
        if (finished) return;
        socket.write(Buffer.from(piece, 'latin1'));
      }
      if (end === 'reset') setImmediate(() => finish(false));
      else if (end === 'half_close') socket.end();
      else if (end === 'answer' && text === '')
        quiet = setTimeout(() => socket.end(), QUIET_MILLIS);
    });
  });
}

export const portTargets = (): readonly PortTarget[] =>
  PORT_PARTS.map((part) => new PortTarget(part));
