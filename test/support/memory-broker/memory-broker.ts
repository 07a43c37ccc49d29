import {
  BrokerClosedError,
  BrokerDisconnectedError,
  MessageTooLargeError,
  NoRespondersError,
  RequestTimeoutError,
} from '../../../broker/errors.js';
import { HandlerErrors } from '../../../broker/handler-errors.js';
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
} from '../../../broker/port.js';
import { StoreHealth, type StoreOperation } from '../../../broker/store-health.js';
import { checkSubject } from '../../../broker/subject-rules.js';
import { type Cancel, type Millis, systemClock } from '../../../config/index.js';
import type { Delivery, Interest, MemoryBus } from './memory-bus.js';
import { MemoryKeyValue } from './memory-key-value.js';
import { checkStore } from './memory-stores.js';

let inboxes = 0;

const toMessage = (delivery: Delivery): BrokerMessage => ({
  subject: delivery.subject,
  data: delivery.data,
  reply: delivery.reply,
  header: (name) => delivery.headers?.[name],
});

/**
 * A broker inside one process: for tests and simulations, which open no port.
 */
export class MemoryBroker implements Broker {
  readonly kind = 'memory';
  readonly counters = newCounters();
  readonly stores = new StoreHealth(systemClock);
  refusedSubjects: readonly string[] = [];
  readonly #bus: MemoryBus;
  readonly #onClosed: () => void;
  readonly #interests = new Set<Interest>();
  readonly #statusListeners = new Set<(status: BrokerStatus) => void>();
  readonly #values = new Map<string, MemoryKeyValue>();
  readonly #handlerErrors = new HandlerErrors(this.counters, systemClock, (status) => {
    for (const listener of this.#statusListeners) listener(status);
  });
  #closed = false;

  constructor(bus: MemoryBus, onClosed: () => void) {
    this.#bus = bus;
    this.#onClosed = onClosed;
    if (bus.up) this.counters.connects++;
  }

  get connected(): boolean {
    return this.#bus.up && !this.#closed;
  }

  publish(subject: string, data: Uint8Array, options?: PublishOptions): boolean {
    checkSubject(subject, false);
    if (!this.connected) {
      this.counters.droppedDisconnected++;
      return false;
    }
    if (data.byteLength > this.#bus.maxPayload) {
      this.counters.droppedTooLarge++;
      return false;
    }
    this.counters.published++;
    this.#bus.route({
      subject,
      data: data.slice(),
      reply: options?.reply,
      headers: options?.headers,
    });
    return true;
  }

  subscribe(
    subject: string,
    handler: (message: BrokerMessage) => void,
    queue?: string,
  ): Subscription {
    checkSubject(subject, true);
    if (this.#closed) throw new BrokerClosedError(`subscribe ${subject}`);
    return this.#listen(subject, queue, (delivery) => {
      this.counters.received++;
      try {
        handler(toMessage(delivery));
      } catch (error) {
        this.#handlerErrors.failed(subject, error);
      }
    });
  }

  #listen(
    subject: string,
    queue: string | undefined,
    deliver: (delivery: Delivery) => void,
  ): Subscription {
    const interest: Interest = { pattern: subject.split('.'), queue, deliver, active: true };
    this.#bus.add(interest);
    this.#interests.add(interest);
    return {
      unsubscribe: () => {
        this.#bus.remove(interest);
        this.#interests.delete(interest);
      },
    };
  }

  request(subject: string, data: Uint8Array, timeout: Millis): Promise<BrokerMessage> {
    checkSubject(subject, false);
    if (!this.connected) return Promise.reject(new BrokerDisconnectedError(`request ${subject}`));
    if (data.byteLength > this.#bus.maxPayload) {
      return Promise.reject(
        new MessageTooLargeError(subject, data.byteLength, this.#bus.maxPayload),
      );
    }
    return new Promise((resolve, reject) => {
      const reply = `_INBOX.memory.${++inboxes}`;
      let cancel: Cancel = () => {};
      const inbox = this.#listen(reply, undefined, (delivery) => {
        cancel();
        inbox.unsubscribe();
        resolve(toMessage(delivery));
      });
      if (this.#bus.route({ subject, data: data.slice(), reply, headers: undefined }) === 0) {
        inbox.unsubscribe();
        reject(new NoRespondersError(subject));
        return;
      }
      this.counters.published++;
      cancel = this.#bus.timers.after(timeout, () => {
        inbox.unsubscribe();
        reject(new RequestTimeoutError(`request ${subject}`, timeout));
      });
    });
  }

  requestMany(
    subject: string,
    data: Uint8Array,
    wait: Millis,
    isComplete: IsComplete = () => false,
  ): Promise<BrokerMessage[]> {
    checkSubject(subject, false);
    if (!this.connected) return Promise.reject(new BrokerDisconnectedError(`request ${subject}`));
    return new Promise((resolve) => {
      const reply = `_INBOX.memory.${++inboxes}`;
      const answers: BrokerMessage[] = [];
      let cancel: Cancel = () => {};
      let cancelEnd: Cancel | undefined;
      const inbox = this.#listen(reply, undefined, (delivery) => {
        const message = toMessage(delivery);
        answers.push(message);
        if (cancelEnd === undefined && isComplete(message))
          cancelEnd = this.#bus.timers.after(LAST_ANSWERS_WAIT, finish);
      });
      const finish = (): void => {
        inbox.unsubscribe();
        cancel();
        cancelEnd?.();
        resolve(answers);
      };
      if (this.#bus.route({ subject, data: data.slice(), reply, headers: undefined }) === 0)
        finish();
      else cancel = this.#bus.timers.after(wait, finish);
    });
  }

  keyValue(bucket: string): KeyValue {
    let value = this.#values.get(bucket);
    if (!value) {
      const failed = (error: unknown): void =>
        this.#handlerErrors.failed(`bucket ${bucket}`, error);
      value = new MemoryKeyValue(this.#bus, bucket, () => this.connected, this.stores, failed);
      this.#values.set(bucket, value);
    }
    return value;
  }

  stream(name: string, options: StreamOptions): MessageStream {
    const open = () => this.#bus.stream(name, options.maxBytes);
    return {
      append: async (subject, data) => {
        checkSubject(subject, false);
        this.#needConnection(`append to ${name}`);
        checkStore(this.#bus, this.stores, name, 'write');
        const sequence = open().append(subject, data);
        this.#bus.route({ subject, data: data.slice(), reply: undefined, headers: undefined });
        return sequence;
      },
      read: async (fromSequence, limit) => {
        this.#needConnection(`read ${name}`);
        checkStore(this.#bus, this.stores, name, 'read');
        return open().read(fromSequence, limit);
      },
    };
  }

  objects(store: string): ObjectStore {
    const open = (operation: StoreOperation, key = ''): Map<string, Uint8Array> => {
      this.#needConnection(`object store ${store}`);
      checkStore(this.#bus, this.stores, store, operation, key);
      let map = this.#bus.objects.get(store);
      if (!map) {
        map = new Map();
        this.#bus.objects.set(store, map);
      }
      return map;
    };
    return {
      put: async (name, data) => void open('write', name).set(name, data.slice()),
      get: async (name) => open('read', name).get(name)?.slice() ?? null,
      delete: async (name) => void open('write', name).delete(name),
      names: async () => [...open('read').keys()],
    };
  }

  onStatus(listener: (status: BrokerStatus) => void): Cancel {
    this.#statusListeners.add(listener);
    queueMicrotask(() => {
      if (this.#statusListeners.has(listener)) listener(this.#status());
    });
    return () => this.#statusListeners.delete(listener);
  }

  /** Called by the bus when it goes down or comes up. */
  announce(): void {
    if (this.#bus.up) this.counters.connects++;
    for (const listener of this.#statusListeners) listener(this.#status());
    if (this.#bus.up) for (const value of this.#values.values()) value.resync();
  }

  async flush(): Promise<void> {
    this.#needConnection('flush');
    // Deliveries are microtasks queued before this one.
    await Promise.resolve();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const interest of this.#interests) this.#bus.remove(interest);
    for (const value of this.#values.values()) value.close();
    this.#onClosed();
  }

  #status(): BrokerStatus {
    return this.connected ? { kind: 'connected', server: 'memory' } : { kind: 'disconnected' };
  }

  #needConnection(operation: string): void {
    if (this.#closed) throw new BrokerClosedError(operation);
    if (!this.#bus.up) throw new BrokerDisconnectedError(operation);
  }
}
