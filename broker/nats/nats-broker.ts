import {
  ErrorCode,
  type Msg,
  type NatsConnection,
  type QueuedIterator,
  RequestStrategy,
} from 'nats';
import {
  type Cancel,
  type GleanerError,
  type Millis,
  systemClock,
  systemTimers,
  type Timers,
} from '../../config/index.js';
import {
  BrokerClosedError,
  BrokerDisconnectedError,
  MessageTooLargeError,
  NoRespondersError,
  RequestTimeoutError,
} from '../errors.js';
import { HandlerErrors } from '../handler-errors.js';
import {
  type Broker,
  type BrokerMessage,
  type BrokerStatus,
  type IsComplete,
  type KeyValue,
  LAST_ANSWERS_WAIT,
  type MessageStream,
  newCounters,
  type ObjectStore,
  type PublishOptions,
  type StreamOptions,
  type Subscription,
} from '../port.js';
import { StoreHealth } from '../store-health.js';
import { checkSubject } from '../subject-rules.js';
import { Backlog } from './backlog.js';
import { type NatsOptions, natsConnectionOptions } from './connection-options.js';
import type { StoreParts } from './lazy-store.js';
import { codeOf, connectionError } from './nats-errors.js';
import { NatsKeyValue } from './nats-key-value.js';
import { NatsLink } from './nats-link.js';
import { natsObjects, natsStream } from './nats-stores.js';
import { NatsSubscriptions } from './nats-subscriptions.js';

const largestMessage = ({ info }: NatsConnection): number => info?.max_payload ?? 1_048_576;

const toMessage = (message: Msg): BrokerMessage => ({
  subject: message.subject,
  data: message.data,
  reply: message.reply === '' ? undefined : message.reply,
  header: (name) => (message.headers?.has(name) ? message.headers.get(name) : undefined),
});

/** A broker on NATS. Usable at once: it connects in the background and never gives up. */
export class NatsBroker implements Broker {
  readonly kind = 'nats';
  readonly counters = newCounters();
  readonly stores: StoreHealth;
  readonly #link: NatsLink;
  readonly #timers: Timers;
  readonly #backlog: Backlog;
  readonly #storeParts: StoreParts;
  readonly #handlerErrors: HandlerErrors;
  readonly #subscriptions: NatsSubscriptions;
  readonly #values = new Map<string, NatsKeyValue>();
  readonly #statusListeners = new Set<(status: BrokerStatus) => void>();
  readonly #connection = (): NatsConnection | null => this.#link.connection;
  #closed = false;

  constructor(options: NatsOptions) {
    this.#timers = options.timers ?? systemTimers;
    const clock = options.clock ?? systemClock;
    this.#backlog = new Backlog(this.#connection, this.counters, {
      bytes: options.backlogBytes ?? 8 * 1024 * 1024,
      clock,
    });
    this.#subscriptions = new NatsSubscriptions({
      connection: this.#connection,
      timers: this.#timers,
      retryInterval: options.refusedRetryInterval ?? (15_000 as Millis),
    });
    this.stores = new StoreHealth(clock);
    this.#handlerErrors = new HandlerErrors(this.counters, clock, (status) => this.#tell(status));
    this.#storeParts = {
      connection: this.#connection,
      timeout: options.storeTimeout ?? (5000 as Millis),
      health: this.stores,
      clock,
    };
    const time = { timers: this.#timers, clock };
    this.#link = new NatsLink(natsConnectionOptions(options), time, {
      up: (connection, fresh) => this.#up(connection, fresh),
      down: () => {
        this.#backlog.disconnected();
        this.#tell({ kind: 'disconnected' });
      },
      error: (error, suppressed) => this.#tell({ kind: 'error', error, suppressed }),
      subscriptionRefused: (subject) => this.#subscriptions.refuse(subject),
    });
    this.#link.start();
  }

  get connected(): boolean {
    return this.#link.connection !== null;
  }

  get refusedSubjects(): string[] {
    const watched = [...this.#values.values()].filter(({ isRefused }) => isRefused);
    return [...this.#subscriptions.refused, ...watched.map(({ notices }) => notices)];
  }

  publish(subject: string, data: Uint8Array, options?: PublishOptions): boolean {
    checkSubject(subject, false);
    const connection = this.#link.connection;
    if (!connection) {
      this.counters.droppedDisconnected++;
      return false;
    }
    if (data.byteLength > largestMessage(connection)) {
      this.counters.droppedTooLarge++;
      return false;
    }
    return this.#backlog.publish(connection, { subject, data, options });
  }

  subscribe(
    subject: string,
    handler: (message: BrokerMessage) => void,
    queue?: string,
  ): Subscription {
    checkSubject(subject, true);
    if (this.#closed) throw new BrokerClosedError(`subscribe ${subject}`);
    const receive = (message: Msg): void => {
      this.counters.received++;
      try {
        handler(toMessage(message));
      } catch (error) {
        this.#handlerErrors.failed(subject, error);
      }
    };
    return this.#subscriptions.add({ subject, queue, receive });
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

  async requestMany(
    subject: string,
    data: Uint8Array,
    wait: Millis,
    isComplete: IsComplete = () => false,
  ): Promise<BrokerMessage[]> {
    checkSubject(subject, false);
    const connection = this.#ready(`request ${subject}`, data);
    const answers: BrokerMessage[] = [];
    let cancelEnd: Cancel | undefined;
    try {
      const options = { strategy: RequestStrategy.Timer, maxWait: wait };
      const arriving = await connection.requestMany(subject, data, options);
      for await (const answer of arriving) {
        const message = toMessage(answer);
        answers.push(message);
        if (cancelEnd === undefined && isComplete(message))
          cancelEnd = this.#timers.after(LAST_ANSWERS_WAIT, () =>
            (arriving as QueuedIterator<Msg>).stop(),
          );
      }
    } catch (error) {
      const known = requestError(subject, wait, error);
      if (known instanceof NoRespondersError || known instanceof RequestTimeoutError)
        return answers;
      throw known;
    } finally {
      cancelEnd?.();
    }
    return answers;
  }

  #ready(operation: string, data: Uint8Array): NatsConnection {
    if (this.#closed) throw new BrokerClosedError(operation);
    const connection = this.#link.connection;
    if (!connection) throw new BrokerDisconnectedError(operation);
    const max = largestMessage(connection);
    if (data.byteLength > max) throw new MessageTooLargeError(operation, data.byteLength, max);
    return connection;
  }

  keyValue(bucket: string): KeyValue {
    let value = this.#values.get(bucket);
    if (!value) {
      const failed = (error: unknown): void =>
        this.#handlerErrors.failed(`bucket ${bucket}`, error);
      value = new NatsKeyValue(bucket, this.#storeParts, this.#timers, failed);
      this.#values.set(bucket, value);
    }
    return value;
  }

  stream(name: string, options: StreamOptions): MessageStream {
    return natsStream(name, options, this.#storeParts);
  }

  objects(store: string): ObjectStore {
    return natsObjects(store, this.#storeParts);
  }

  onStatus(listener: (status: BrokerStatus) => void): Cancel {
    this.#statusListeners.add(listener);
    queueMicrotask(() => {
      if (!this.#statusListeners.has(listener)) return;
      this.#notifyListener(listener, this.#status());
      // It was reported before this listener came, and is not reported again.
      const { problem } = this.#link;
      if (problem !== null) this.#notifyListener(listener, { kind: 'error', error: problem });
    });
    return () => this.#statusListeners.delete(listener);
  }

  async flush(): Promise<void> {
    const connection = this.#link.connection;
    if (!connection) throw new BrokerDisconnectedError('flush');
    try {
      // Messages that wait are sent as the server confirms earlier ones.
      do await connection.flush();
      while (this.#backlog.length > 0);
    } catch (error) {
      throw connectionError('flush', error);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#subscriptions.close();
    for (const value of this.#values.values()) value.close();
    await this.#link.stop();
  }

  #status(): BrokerStatus {
    const connection = this.#link.connection;
    return connection
      ? { kind: 'connected', server: connection.getServer() }
      : { kind: 'disconnected' };
  }

  #up(connection: NatsConnection, fresh: boolean): void {
    this.counters.connects++;
    this.#backlog.connected();
    this.#subscriptions.connected(connection, fresh);
    for (const value of this.#values.values()) value.connected(fresh);
    this.#tell(this.#status());
  }

  #tell(status: BrokerStatus): void {
    for (const listener of this.#statusListeners) this.#notifyListener(listener, status);
  }

  #notifyListener(listener: (status: BrokerStatus) => void, status: BrokerStatus): void {
    try {
      listener(status);
    } catch (error) {
      // This loop is not awaited, so that an exception would end the process.
      this.#handlerErrors.failed('the connection status', error);
    }
  }
}

function requestError(subject: string, timeout: number, error: unknown): GleanerError {
  const code = codeOf(error);
  if (code === ErrorCode.NoResponders) return new NoRespondersError(subject);
  if (code === ErrorCode.Timeout) return new RequestTimeoutError(`request ${subject}`, timeout);
  return connectionError(`request ${subject}`, error);
}
