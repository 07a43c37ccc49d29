import { type NatsConnection, headers as newHeaders } from 'nats';
import type { Clock } from '../../config/index.js';
import { DroppingQueue } from '../dropping-queue.js';
import type { BrokerCounters, PublishOptions } from '../port.js';

export interface Outgoing {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly options: PublishOptions | undefined;
}

/**
 * Confirm what was sent whenever this much is unconfirmed: keeps the backlog's figure honest at
 * little cost.
 */
const CONFIRM_BYTES = 64 * 1024;
const MESSAGE_OVERHEAD = 64;
/**
 * Share of the backlog that may be handed to the socket unconfirmed: what is there cannot be taken
 * back for something newer.
 */
const WINDOW = 1 / 8;
/** A server that has confirmed nothing for so long is not slow. */
const STALLED_MILLIS = 5000;

/**
 * What is on its way to the server and what waits for it. A client's own buffer has no bound, and
 * nothing in it can be taken back: so little is handed over unconfirmed, and the rest waits here,
 * where the oldest goes when there is too much.
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

  /** @param bytes on the way and waiting, at most */
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

  /** Messages that wait. */
  get length(): number {
    return this.#waiting.length;
  }

  connected(): void {
    this.#unconfirmed = 0;
  }

  /** Old figures are worth nothing later. */
  disconnected(): void {
    this.#counters.droppedDisconnected += this.#waiting.clear();
  }

  /** False: it was dropped. */
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

  /** One larger than the whole window goes alone. */
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
      // Closed or draining since it was looked at.
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
