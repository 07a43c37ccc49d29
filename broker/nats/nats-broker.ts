import { readFileSync } from 'node:fs';
import {
  type ConnectionOptions,
  ErrorCode,
  type Msg,
  type NatsConnection,
  type Subscription as NatsSubscription,
  headers as newHeaders,
  RequestStrategy,
} from 'nats';
import {
  type Cancel,
  type Clock,
  type GleanerError,
  type Millis,
  systemClock,
  systemTimers,
  type Timers,
} from '../../config/index.js';
import { DroppingQueue } from '../dropping-queue.js';
import {
  BrokerClosedError,
  BrokerDisconnectedError,
  CredentialsError,
  MessageTooLargeError,
  NoRespondersError,
  RequestTimeoutError,
} from '../errors.js';
import {
  type Broker,
  type BrokerMessage,
  type BrokerStatus,
  type KeyValue,
  type MessageStream,
  newCounters,
  type ObjectStore,
  type PublishOptions,
  type StreamOptions,
  type Subscription,
} from '../port.js';
import { checkSubject } from '../subject-rules.js';
import { authenticatorFrom, checkSecrecy } from './credentials.js';
import { codeOf, connectionError } from './nats-errors.js';
import { NatsKeyValue } from './nats-key-value.js';
import { NatsLink } from './nats-link.js';
import { natsObjects, natsStream } from './nats-stores.js';

export interface NatsOptions {
  readonly servers: readonly string[];
  /** Shown in the server's list of connections. */
  readonly name: string;
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  /** A `.creds` file or an nkey seed file. */
  readonly credentialsFile?: string;
  /** First token of the subjects on which answers come; default `_INBOX`. */
  readonly inboxPrefix?: string;
  readonly tls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string };
  /** What may be on its way to the server, and wait for it, before the oldest telemetry is dropped, bytes. */
  readonly backlogBytes?: number;
  /** Bound of operations on stores, ms. */
  readonly storeTimeout?: Millis;
  readonly timers?: Timers;
  readonly clock?: Clock;
}

interface Waiting {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly options: PublishOptions | undefined;
}

interface Held {
  readonly subject: string;
  readonly queue: string | undefined;
  readonly handler: (message: BrokerMessage) => void;
  live: NatsSubscription | null;
}

/** Confirm what was sent whenever this much is unconfirmed: keeps the backlog's figure honest at little cost. */
const CONFIRM_BYTES = 64 * 1024;
const MESSAGE_OVERHEAD = 64;
/** Share of the backlog that may be handed to the socket unconfirmed: what is there cannot be taken back for something newer. */
const WINDOW = 1 / 8;
/** A server that has confirmed nothing for so long is not slow. */
const STALLED_MILLIS = 5000;

/** Throws `GLN_BROKER_CREDENTIALS` for files that cannot be right; whether the server likes them it says later. */
export function natsConnectionOptions(options: NatsOptions): ConnectionOptions {
  for (const file of [options.tls?.caFile, options.tls?.certFile, options.tls?.keyFile]) {
    if (file === undefined) continue;
    try {
      readFileSync(file);
    } catch (error) {
      throw new CredentialsError(file, error instanceof Error ? error.message : 'cannot be read');
    }
  }
  if (options.tls?.keyFile !== undefined) checkSecrecy(options.tls.keyFile);
  return {
    servers: [...options.servers],
    name: options.name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    timeout: 5000,
    pingInterval: 10_000,
    maxPingOut: 2,
    ...(options.user === undefined ? {} : { user: options.user }),
    ...(options.password === undefined ? {} : { pass: options.password }),
    ...(options.token === undefined ? {} : { token: options.token }),
    ...(options.inboxPrefix === undefined ? {} : { inboxPrefix: options.inboxPrefix }),
    ...(options.tls ? { tls: options.tls } : {}),
    ...(options.credentialsFile === undefined ? {} : { authenticator: authenticatorFrom(options.credentialsFile) }),
  };
}

const toMessage = (message: Msg): BrokerMessage => ({
  subject: message.subject,
  data: message.data,
  reply: message.reply === '' ? undefined : message.reply,
  header: (name) => (message.headers?.has(name) ? message.headers.get(name) : undefined),
});

/** A broker on NATS. Usable at once: it connects in the background, and for ever. */
export class NatsBroker implements Broker {
  readonly kind = 'nats';
  readonly counters = newCounters();
  readonly #link: NatsLink;
  readonly #timers: Timers;
  readonly #clock: Clock;
  readonly #window: number;
  readonly #waiting: DroppingQueue<Waiting>;
  readonly #storeTimeout: Millis;
  readonly #held = new Set<Held>();
  readonly #values = new Map<string, NatsKeyValue>();
  readonly #statusListeners = new Set<(status: BrokerStatus) => void>();
  readonly #connection = (): NatsConnection | null => this.#link.connection;
  #unconfirmed = 0;
  #confirming = false;
  #confirmingSince = 0;
  #closed = false;

  constructor(options: NatsOptions) {
    this.#timers = options.timers ?? systemTimers;
    this.#clock = options.clock ?? systemClock;
    const backlog = options.backlogBytes ?? 8 * 1024 * 1024;
    this.#window = backlog * WINDOW;
    this.#waiting = new DroppingQueue(backlog - this.#window);
    this.#storeTimeout = options.storeTimeout ?? (5000 as Millis);
    this.#link = new NatsLink(natsConnectionOptions(options), this.#timers, {
      up: (connection, fresh) => this.#up(connection, fresh),
      down: () => {
        // Old figures are worth nothing later.
        this.counters.droppedDisconnected += this.#waiting.clear();
        this.#tell({ kind: 'disconnected' });
      },
      error: (error) => this.#tell({ kind: 'error', error }),
    });
    this.#link.start();
  }

  get connected(): boolean {
    return this.#link.connection !== null;
  }

  publish(subject: string, data: Uint8Array, options?: PublishOptions): boolean {
    checkSubject(subject, false);
    const connection = this.#link.connection;
    if (!connection) {
      this.counters.droppedDisconnected++;
      return false;
    }
    const size = data.byteLength + MESSAGE_OVERHEAD;
    if (data.byteLength > (connection.info?.max_payload ?? 1_048_576)) {
      this.counters.droppedTooLarge++;
      return false;
    }
    const waits = this.#waiting.length > 0 || !this.#hasRoom(size);
    if (!waits || options?.urgent === true) return this.#send(connection, { subject, data, options }, size);
    const dropped = this.#waiting.push({ subject, data, options }, size);
    if (this.#isStalled) this.counters.droppedStalled += dropped;
    else this.counters.droppedBacklog += dropped;
    this.#confirm(connection);
    return true;
  }

  /** One larger than the whole window goes alone. */
  #hasRoom(size: number): boolean {
    return this.#unconfirmed === 0 || this.#unconfirmed + size <= this.#window;
  }

  get #isStalled(): boolean {
    return this.#confirming && this.#clock.monotonic() - this.#confirmingSince >= STALLED_MILLIS;
  }

  #send(connection: NatsConnection, { subject, data, options }: Waiting, size: number): boolean {
    try {
      connection.publish(subject, data, options ? publishOptions(options) : undefined);
    } catch {
      // Closed or draining since it was looked at.
      this.counters.droppedDisconnected++;
      return false;
    }
    this.counters.published++;
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
    const connection = this.#link.connection;
    for (let size = this.#waiting.nextSize; connection && size !== undefined && this.#hasRoom(size); ) {
      this.#send(connection, this.#waiting.shift() as Waiting, size);
      size = this.#waiting.nextSize;
    }
    if (connection && this.#waiting.length > 0) this.#confirm(connection);
  }

  subscribe(subject: string, handler: (message: BrokerMessage) => void, queue?: string): Subscription {
    checkSubject(subject, true);
    if (this.#closed) throw new BrokerClosedError(`subscribe ${subject}`);
    const held: Held = { subject, queue, handler, live: null };
    this.#held.add(held);
    const connection = this.#link.connection;
    if (connection) this.#bind(connection, held);
    return {
      unsubscribe: () => {
        this.#held.delete(held);
        held.live?.unsubscribe();
        held.live = null;
      },
    };
  }

  #bind(connection: NatsConnection, held: Held): void {
    held.live = connection.subscribe(held.subject, {
      ...(held.queue === undefined ? {} : { queue: held.queue }),
      callback: (error, message) => {
        if (error) {
          this.#tell({ kind: 'error', error: connectionError(`subscribe ${held.subject}`, error) });
          return;
        }
        this.counters.received++;
        try {
          held.handler(toMessage(message));
        } catch {
          this.counters.handlerErrors++;
        }
      },
    });
  }

  async request(subject: string, data: Uint8Array, timeout: Millis): Promise<BrokerMessage> {
    checkSubject(subject, false);
    const connection = this.#ready(`request ${subject}`, data);
    try {
      const answer = await connection.request(subject, data, { timeout });
      this.counters.published++;
      return toMessage(answer);
    } catch (error) {
      throw requestError(subject, timeout, error);
    }
  }

  async requestMany(subject: string, data: Uint8Array, wait: Millis): Promise<BrokerMessage[]> {
    checkSubject(subject, false);
    const connection = this.#ready(`request ${subject}`, data);
    const answers: BrokerMessage[] = [];
    try {
      const options = { strategy: RequestStrategy.Timer, maxWait: wait };
      for await (const answer of await connection.requestMany(subject, data, options)) answers.push(toMessage(answer));
    } catch (error) {
      const known = requestError(subject, wait, error);
      if (known instanceof NoRespondersError || known instanceof RequestTimeoutError) return answers;
      throw known;
    }
    return answers;
  }

  #ready(operation: string, data: Uint8Array): NatsConnection {
    if (this.#closed) throw new BrokerClosedError(operation);
    const connection = this.#link.connection;
    if (!connection) throw new BrokerDisconnectedError(operation);
    const max = connection.info?.max_payload ?? 1_048_576;
    if (data.byteLength > max) throw new MessageTooLargeError(operation, data.byteLength, max);
    return connection;
  }

  keyValue(bucket: string): KeyValue {
    let value = this.#values.get(bucket);
    if (!value) {
      const report = (error: GleanerError): void => this.#tell({ kind: 'error', error });
      const failed = (): void => void this.counters.handlerErrors++;
      value = new NatsKeyValue(bucket, this.#connection, this.#timers, this.#storeTimeout, report, failed);
      this.#values.set(bucket, value);
    }
    return value;
  }

  stream(name: string, options: StreamOptions): MessageStream {
    return natsStream(name, options, this.#connection, this.#storeTimeout);
  }

  objects(store: string): ObjectStore {
    return natsObjects(store, this.#connection, this.#storeTimeout);
  }

  onStatus(listener: (status: BrokerStatus) => void): Cancel {
    this.#statusListeners.add(listener);
    queueMicrotask(() => {
      if (this.#statusListeners.has(listener)) listener(this.#status());
    });
    return () => this.#statusListeners.delete(listener);
  }

  async flush(): Promise<void> {
    const connection = this.#link.connection;
    if (!connection) throw new BrokerDisconnectedError('flush');
    try {
      // What still waits is handed on as the server confirms.
      do await connection.flush();
      while (this.#waiting.length > 0);
    } catch (error) {
      throw connectionError('flush', error);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const value of this.#values.values()) value.close();
    await this.#link.stop();
  }

  #status(): BrokerStatus {
    const connection = this.#link.connection;
    return connection ? { kind: 'connected', server: connection.getServer() } : { kind: 'disconnected' };
  }

  #up(connection: NatsConnection, fresh: boolean): void {
    this.counters.connects++;
    this.#unconfirmed = 0;
    if (fresh) for (const held of this.#held) this.#bind(connection, held);
    for (const value of this.#values.values()) value.connected(fresh);
    this.#tell(this.#status());
  }

  #tell(status: BrokerStatus): void {
    for (const listener of this.#statusListeners) listener(status);
  }
}

function publishOptions(options: PublishOptions) {
  let headers: ReturnType<typeof newHeaders> | undefined;
  if (options.headers) {
    headers = newHeaders();
    for (const [name, value] of Object.entries(options.headers)) headers.set(name, value);
  }
  return { ...(options.reply === undefined ? {} : { reply: options.reply }), ...(headers ? { headers } : {}) };
}

function requestError(subject: string, timeout: number, error: unknown): GleanerError {
  const code = codeOf(error);
  if (code === ErrorCode.NoResponders) return new NoRespondersError(subject);
  if (code === ErrorCode.Timeout) return new RequestTimeoutError(`request ${subject}`, timeout);
  return connectionError(`request ${subject}`, error);
}
