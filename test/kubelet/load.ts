import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../config/index.js';
import type { Work } from './action-pods.js';

/** A container takes one activation at a time, as OpenWhisk's do by default. */
export class FunctionLoad {
  readonly #work: Work;
  readonly #random: Random;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #ended: Promise<void> = Promise.resolve();
  #over = new AbortController();
  sent = 0;
  readonly failures: string[] = [];

  constructor(work: Work, random: Random) {
    this.#work = work;
    this.#random = random;
  }

  start(address: string): void {
    this.#over = new AbortController();
    this.#ended = this.#run(address, this.#over.signal);
  }

  /** Whether the container takes connections. */
  static isUp(host: string): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect({ host, port: 8080 }, () => resolve(true));
      socket.on('error', () => resolve(false)).on('connect', () => socket.end());
    });
  }

  /** The running activation is waited for. */
  async stop(): Promise<void> {
    this.#over.abort();
    await this.#ended;
    this.#agent.destroy();
  }

  async #run(address: string, over: AbortSignal): Promise<void> {
    const { rare, busy, sleep: idle, pause } = this.#work;
    while (!over.aborted) {
      const isRare = ++this.sent % rare.every === 0;
      const value = isRare ? { busy: rare.busy, sleep: rare.sleep } : { busy, sleep: idle };
      const failure = await this.#activation(address, value);
      if (failure !== null)
        this.failures.push(`${new Date().toISOString()} ${this.#work.action}: ${failure}`);
      const millis = -Math.log(1 - this.#random.next()) * pause;
      await sleep(millis, undefined, { signal: over }).catch(() => undefined);
    }
  }

  #activation(host: string, value: object, isAgain = false): Promise<string | null> {
    const body = JSON.stringify({
      action_name: `/guest/${this.#work.action}`,
      action_version: '0.0.1',
      activation_id: randomUUID().replaceAll('-', ''),
      api_key: 'key',
      deadline: String(Date.now() + 60_000),
      namespace: 'guest',
      transaction_id: 't',
      value,
    });
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    return new Promise((resolve) => {
      const sent = request(
        { host, port: 8080, path: '/run', method: 'POST', agent: this.#agent, headers },
        (answer) => {
          answer.on('error', (error) => resolve(String(error)));
          answer.resume().on('end', () => {
            resolve(answer.statusCode === 200 ? null : `status ${answer.statusCode}`);
          });
        },
      );
      sent.setTimeout(60_000, () => sent.destroy(new Error('no answer within 60 s')));
      sent.on('error', (error) => {
        // The server may close a connection that idles just when it is used again.
        if (sent.reusedSocket && !isAgain) resolve(this.#activation(host, value, true));
        else resolve(String(error));
      });
      sent.end(body);
    });
  }
}
