import type { IncomingMessage } from 'node:http';
import type { Cancel, GleanerError, Micros, Millis, Random, Timers } from '../../config/index.js';
import { messageOf, millis } from '../../config/index.js';
import type { DockerClient } from './docker-client.js';
import { type EngineEvent, eventSchema } from './docker-schemas.js';
import { EngineAnswerError, EngineUnavailableError } from './engine-errors.js';

const WANTED = {
  type: ['container', 'network'],
  event: ['start', 'die', 'pause', 'unpause', 'oom', 'destroy', 'create'],
};
const LONGEST_LINE = 1024 * 1024;
const FIRST_DELAY = 100;
const LONGEST_DELAY = 5000;

export interface DockerEventsListener {
  /** The engine has accepted the subscription: whatever happens from here on is told. */
  subscribed(): void;
  event(event: EngineEvent, at: Micros): void;
  lost(error: GleanerError): void;
}

/**
 * The engine's event stream, reconnected for ever with growing pauses. After a gap it asks from the last event seen on, so that
 * an event may come twice; the engine remembers only its last 256, so a listing must follow each {@link DockerEventsListener.subscribed}.
 */
export class DockerEvents {
  readonly #client: DockerClient;
  readonly #timers: Timers;
  readonly #random: Random;
  readonly #listener: DockerEventsListener;
  #since: Micros;
  #delay = FIRST_DELAY;
  #response: IncomingMessage | null = null;
  #cancel: Cancel | null = null;
  #stopped = false;

  constructor(client: DockerClient, timers: Timers, random: Random, since: Micros, listener: DockerEventsListener) {
    this.#client = client;
    this.#timers = timers;
    this.#random = random;
    this.#since = since;
    this.#listener = listener;
  }

  start(): void {
    void this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
    this.#response?.destroy();
  }

  /** Drops the connection, to be made anew: the engine was found dead in another way. */
  reconnect(error: GleanerError): void {
    this.#response?.destroy(error);
  }

  /** The connection has proved good (a pass went through): the next pause is short again. */
  settled(): void {
    this.#delay = FIRST_DELAY;
  }

  async #connect(): Promise<void> {
    this.#cancel = null;
    try {
      const filters = encodeURIComponent(JSON.stringify(WANTED));
      const since = `${Math.floor(this.#since / 1e6)}.${String(Math.floor(this.#since % 1e6)).padStart(6, '0')}000`;
      const response = await this.#client.stream(`/events?since=${since}&filters=${filters}`);
      if (this.#stopped) {
        response.destroy();
        return;
      }
      if (response.statusCode !== 200) {
        response.destroy();
        throw new EngineUnavailableError(`GET /events was answered with ${response.statusCode}`);
      }
      this.#response = response;
      this.#follow(response);
      this.#listener.subscribed();
    } catch (error) {
      this.#again(error);
    }
  }

  #follow(response: IncomingMessage): void {
    let rest = '';
    let over = false;
    const end = (error: unknown): void => {
      if (over) return;
      over = true;
      if (this.#response === response) this.#response = null;
      this.#again(error);
    };
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      rest += chunk;
      for (let at = rest.indexOf('\n'); at >= 0; at = rest.indexOf('\n')) {
        const line = rest.slice(0, at);
        rest = rest.slice(at + 1);
        if (line.trim() !== '') this.#line(line);
      }
      if (rest.length > LONGEST_LINE) response.destroy(new EngineAnswerError('an event is longer than 1 MiB'));
    });
    response.on('error', end);
    response.on('close', () => end(new EngineUnavailableError('the engine closed its event stream')));
  }

  #line(line: string): void {
    let event: EngineEvent;
    try {
      event = eventSchema.parse(JSON.parse(line));
    } catch {
      // One line that cannot be read loses one event; the next pass finds what it meant.
      return;
    }
    const at = (event.timeNano === undefined ? (event.time ?? 0) * 1e6 : event.timeNano / 1000) as Micros;
    if (at > this.#since) this.#since = at;
    this.#listener.event(event, at);
  }

  #again(error: unknown): void {
    if (this.#stopped) return;
    this.#client.forgetVersion();
    const pause = (this.#delay * (0.5 + this.#random.next())) as Millis;
    this.#delay = Math.min(LONGEST_DELAY, this.#delay * 2);
    this.#cancel = this.#timers.after(millis(pause), () => void this.#connect());
    this.#listener.lost(
      error instanceof EngineUnavailableError || error instanceof EngineAnswerError
        ? error
        : new EngineUnavailableError(messageOf(error), error),
    );
  }
}
