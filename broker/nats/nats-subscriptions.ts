import type { Msg, NatsConnection, Subscription as NatsSubscription } from 'nats';
import type { Cancel, Millis, Timers } from '../../config/index.js';
import type { Subscription } from '../port.js';

export interface SubscriptionRequest {
  readonly subject: string;
  readonly queue: string | undefined;
  readonly receive: (message: Msg) => void;
}

interface Entry {
  readonly request: SubscriptionRequest;
  /** Null while it is not subscribed. */
  live: NatsSubscription | null;
  isRefused: boolean;
}

export interface SubscriptionsOptions {
  readonly connection: () => NatsConnection | null;
  readonly timers: Timers;
  /** Interval at which refused subscriptions are tried again. */
  readonly retryInterval: Millis;
}

/**
 * The subscriptions of a broker, on whichever connection it has. The server refuses one at once, or
 * ends it when a reload takes its permission away: it is tried again until it holds.
 */
export class NatsSubscriptions {
  readonly #options: SubscriptionsOptions;
  readonly #entries = new Set<Entry>();
  #cancelRetry: Cancel | null = null;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** Subjects, each once. */
  get refused(): string[] {
    return [...new Set(this.#refusedEntries().map(({ request }) => request.subject))];
  }

  add(request: SubscriptionRequest): Subscription {
    const entry: Entry = { request, live: null, isRefused: false };
    this.#entries.add(entry);
    const connection = this.#options.connection();
    if (connection) this.#bind(connection, entry);
    return {
      unsubscribe: () => {
        this.#entries.delete(entry);
        entry.live?.unsubscribe();
        entry.live = null;
      },
    };
  }

  /** Called at each connect; `fresh`: nothing is subscribed on this connection yet. */
  connected(connection: NatsConnection, fresh: boolean): void {
    for (const entry of this.#entries)
      if (fresh || entry.live === null) this.#bind(connection, entry);
  }

  /**
   * The server refuses the subject. The callback of the client does not tell for a queue group,
   * which the server does not name after a reload.
   */
  refuse(subject: string): void {
    for (const entry of this.#entries) {
      if (entry.request.subject !== subject) continue;
      entry.live?.unsubscribe();
      entry.live = null;
      entry.isRefused = true;
      const { timers, retryInterval } = this.#options;
      this.#cancelRetry ??= timers.every(retryInterval, () => void this.#retry());
    }
  }

  close(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = null;
  }

  #bind(connection: NatsConnection, entry: Entry): void {
    const { subject, queue, receive } = entry.request;
    entry.live = connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        if (!error) receive(message);
      },
    });
  }

  async #retry(): Promise<void> {
    const connection = this.#options.connection();
    if (!connection) return;
    const refused = this.#refusedEntries();
    for (const entry of refused) if (entry.live === null) this.#bind(connection, entry);
    try {
      // The server has answered every request to subscribe before this one.
      await connection.flush();
    } catch {
      return;
    }
    for (const entry of refused) entry.isRefused = entry.live === null;
    if (this.#refusedEntries().length === 0) this.close();
  }

  #refusedEntries(): Entry[] {
    return [...this.#entries].filter(({ isRefused }) => isRefused);
  }
}
