import { type NatsConnection, headers as newHeaders } from 'nats';
import type { Clock } from '../../config/index.js';
import { DroppingQueue } from '../dropping-queue.js';
import type { BrokerCounters, PublishOptions } from '../port.js';

export interface Outgoing {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly options: PublishOptions | undefined;
}

/** A confirmation is requested whenever this many bytes are unconfirmed. */
const CONFIRM_BYTES = 64 * 1024;
const MESSAGE_OVERHEAD = 64;
/** Share of the backlog that may be unconfirmed in the socket, where it cannot be dropped. */
const WINDOW = 1 / 8;
/** A server that has confirmed nothing for this long is dead, not slow. */
const STALLED_MILLIS = 5000;

/**
 * The client's own buffer has no bound and nothing in it can be dropped, so little is handed to it
 * unconfirmed; the rest waits here, and the oldest is dropped when there is too much.
 */
export class Backlog {
  readonly #connection: () => NatsConnection | null;
  readonly #counters: BrokerCounters;
  readonly #clock: Clock;
  readonly #window: number;
  readonly #waiting: DroppingQueue<Outgoing>;
  #unconfirmed = 0;
  #confirming = false;
  #confirmingSince = 0;

  /** @param bytes most bytes in flight and waiting */
  constructor(
    connection: () => NatsConnection | null,
    counters: BrokerCounters,
    { bytes, clock }: { readonly bytes: number; readonly clock: Clock },
  ) {
    this.#connection = connection;
    this.#counters = counters;
    this.#clock = clock;
    this.#window = bytes * WINDOW;
    this.#waiting = new DroppingQueue(bytes - this.#window);
  }

  get length(): number {
    return this.#waiting.length;
  }

  connected(): void {
    this.#unconfirmed = 0;
  }

  /** Drops everything that waits: old figures are useless later. */
  disconnected(): void {
    this.#counters.droppedDisconnected += this.#waiting.clear();
  }

  /** False if it was dropped. */
  publish(connection: NatsConnection, message: Outgoing): boolean {
    const size = message.data.byteLength + MESSAGE_OVERHEAD;
    const waits = this.#waiting.length > 0 || !this.#fitsWindow(size);
    if (!waits || message.options?.urgent === true) return this.#send(connection, message, size);
    const dropped = this.#waiting.push(message, size);
    if (this.#isStalled) this.#counters.droppedStalled += dropped;
    else this.#counters.droppedBacklog += dropped;
    this.#confirm(connection);
    return true;
  }

  /** A message larger than the whole window is sent alone. */
  #fitsWindow(size: number): boolean {
    return this.#unconfirmed === 0 || this.#unconfirmed + size <= this.#window;
  }

  get #isStalled(): boolean {
    return this.#confirming && this.#clock.monotonic() - this.#confirmingSince >= STALLED_MILLIS;
  }

  #send(connection: NatsConnection, { subject, data, options }: Outgoing, size: number): boolean {
    try {
      connection.publish(subject, data, options ? publishOptions(options) : undefined);
    } catch {
      // The connection has been closed in the meantime.
      this.#counters.droppedDisconnected++;
      return false;
    }
    this.#counters.published++;
    this.#unconfirmed += size;
    if (this.#unconfirmed > Math.min(CONFIRM_BYTES, this.#window / 2)) this.#confirm(connection);
    return true;
  }

  #confirm(connection: NatsConnection): void {
    if (this.#confirming) return;
    this.#confirming = true;
    this.#confirmingSince = this.#clock.monotonic();
    const covered = this.#unconfirmed;
    const done = (): void => {
      this.#confirming = false;
      this.#unconfirmed = Math.max(0, this.#unconfirmed - covered);
      this.#sendWaiting();
    };
    connection.flush().then(done, done);
  }

  #sendWaiting(): void {
    const connection = this.#connection();
    for (
      let size = this.#waiting.nextSize;
      connection && size !== undefined && this.#fitsWindow(size);
    ) {
      this.#send(connection, this.#waiting.shift() as Outgoing, size);
      size = this.#waiting.nextSize;
    }
    if (connection && this.#waiting.length > 0) this.#confirm(connection);
  }
}

function publishOptions(options: PublishOptions) {
  let headers: ReturnType<typeof newHeaders> | undefined;
  if (options.headers) {
    headers = newHeaders();
    for (const [name, value] of Object.entries(options.headers)) headers.set(name, value);
  }
  return {
    ...(options.reply === undefined ? {} : { reply: options.reply }),
    ...(headers ? { headers } : {}),
  };
}
