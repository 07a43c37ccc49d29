import type { IncomingMessage } from 'node:http';
import type { Cancel, Clock, GleanerError, Micros, Timers } from '../../../config/index.js';
import {
  type EngineEvents,
  type EngineEventsListener,
  type EngineTime,
  EngineUnavailableError,
  engineError,
  ReconnectDelay,
} from '../engine/index.js';
import type { DockerClient } from './docker-client.js';
import { type EngineEvent, eventSchema } from './docker-schemas.js';

const WANTED = {
  type: ['container', 'network'],
  event: ['start', 'die', 'pause', 'unpause', 'oom', 'update', 'destroy', 'create'],
};
/** An event has all labels of its container, whose size is not limited: 1.5 MiB was met. */
const LONGEST_LINE = 1024 * 1024;
/** The engine sends the head of its answer before it subscribes (moby, `getEvents`). */
const OVERLAP = 1000;
/** The engine repeats no more than its last 256 events. */
const REPEATED = 256;

/**
 * The engine's event stream, reconnected with growing pauses. After a gap it asks for events of the
 * gap's length before the present: the stamp of the last event seen may lie in the future once the
 * clock was set back. Events that arrive twice for that reason are dropped here. A listing must
 * follow each {@link EngineEventsListener.subscribed}, because the engine remembers few events.
 */
export class DockerEvents implements EngineEvents {
  readonly #client: DockerClient;
  readonly #isManaged: (name: string) => boolean;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #delay: ReconnectDelay;
  readonly #listener: EngineEventsListener;
  readonly #handled = new Set<string>();
  /** Monotonic time of the connection's head, and of the last bytes; NaN while there was none. */
  #connectedAt = Number.NaN;
  #heardAt = Number.NaN;
  #response: IncomingMessage | null = null;
  #cancel: Cancel | null = null;
  #stopped = false;

  /** @param isManaged tells by a container's name whether its start is of interest */
  constructor(
    client: DockerClient,
    isManaged: (name: string) => boolean,
    { clock, timers, random }: EngineTime,
    listener: EngineEventsListener,
  ) {
    this.#client = client;
    this.#isManaged = isManaged;
    this.#clock = clock;
    this.#timers = timers;
    this.#delay = new ReconnectDelay(random);
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

  reconnect(error: GleanerError): void {
    this.#response?.destroy(error);
  }

  async #connect(): Promise<void> {
    this.#cancel = null;
    this.#connectedAt = Number.NaN;
    try {
      const filters = encodeURIComponent(JSON.stringify(WANTED));
      const response = await this.#client.stream(
        `/events?since=${this.#since()}&filters=${filters}`,
      );
      if (this.#stopped) {
        response.destroy();
        return;
      }
      if (response.statusCode !== 200) {
        response.destroy();
        throw new EngineUnavailableError(`GET /events was answered with ${response.statusCode}`);
      }
      this.#response = response;
      this.#connectedAt = this.#heardAt = this.#clock.monotonic();
      this.#follow(response);
      this.#listener.subscribed();
    } catch (error) {
      this.#again(error);
    }
  }

  /** Seconds with nine decimals. */
  #since(): string {
    const gap = Number.isNaN(this.#heardAt) ? 0 : this.#clock.monotonic() - this.#heardAt;
    const micros = Math.max(0, this.#clock.wall() - (gap + OVERLAP) * 1000);
    return `${Math.floor(micros / 1e6)}.${String(Math.floor(micros % 1e6)).padStart(6, '0')}000`;
  }

  #follow(response: IncomingMessage): void {
    let rest = '';
    let isSkipping = false;
    let over = false;
    const end = (error: unknown): void => {
      if (over) return;
      over = true;
      if (this.#response === response) this.#response = null;
      this.#again(error);
    };
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      this.#heardAt = this.#clock.monotonic();
      let from = 0;
      for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
        if (!isSkipping) this.#line(rest + chunk.slice(from, at));
        isSkipping = false;
        rest = '';
        from = at + 1;
      }
      if (isSkipping) return;
      rest += chunk.slice(from);
      if (rest.length <= LONGEST_LINE) return;
      rest = '';
      isSkipping = true;
      this.#listener.skipped('huge');
    });
    response.on('error', end);
    response.on('close', () =>
      end(new EngineUnavailableError('the engine closed its event stream')),
    );
  }

  #line(line: string): void {
    if (line.trim() === '') return;
    if (line.length > LONGEST_LINE) {
      this.#listener.skipped('huge');
      return;
    }
    let event: EngineEvent;
    try {
      event = eventSchema.parse(JSON.parse(line));
    } catch {
      this.#listener.skipped('malformed');
      return;
    }
    const { Type, Action, Actor, timeNano } = event;
    if (Type !== 'container' && Type !== 'network') {
      this.#listener.skipped('unknown');
      return;
    }
    if (timeNano !== undefined && this.#isRepeated(`${timeNano} ${Actor.ID} ${Action}`)) return;
    if (Type === 'container') this.#containerEvent(event);
    else if (Action === 'create' || Action === 'destroy') this.#listener.changed();
  }

  #containerEvent({ Action, Actor, timeNano, time = 0 }: EngineEvent): void {
    switch (Action) {
      case 'start':
        if (this.#isManaged(Actor.Attributes?.name ?? '')) this.#listener.started(Actor.ID);
        break;
      case 'die':
      case 'destroy': {
        const at = timeNano === undefined ? time * 1e6 : timeNano / 1000;
        this.#listener.ended(Actor.ID, at as Micros);
        break;
      }
      case 'pause':
      case 'unpause':
        this.#listener.paused(Actor.ID, Action === 'pause');
        break;
      case 'update':
        this.#listener.updated(Actor.ID);
        break;
      case 'oom':
        this.#listener.oom(Actor.ID);
        break;
    }
  }

  /** Sets iterate in the order of insertion: the first entry is the oldest. */
  #isRepeated(key: string): boolean {
    if (this.#handled.has(key)) return true;
    this.#handled.add(key);
    if (this.#handled.size > REPEATED) this.#handled.delete(this.#handled.values().next().value!);
    return false;
  }

  #again(error: unknown): void {
    if (this.#stopped) return;
    this.#client.forgetVersion();
    const pause = this.#delay.next(this.#clock.monotonic() - this.#connectedAt);
    this.#cancel = this.#timers.after(pause, () => void this.#connect());
    this.#listener.lost(engineError(error));
  }
}
