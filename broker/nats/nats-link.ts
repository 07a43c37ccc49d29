import { type ConnectionOptions, Events, type NatsConnection, NatsError } from 'nats';
import type { Cancel, GleanerError, Millis, Timers } from '../../config/index.js';
import { connectClosing } from './closing-transport.js';
import { connectError, connectionError, isAuthError } from './nats-errors.js';

export interface LinkListener {
  /** Connected. `fresh`: by a new connection, on which nothing is subscribed yet. */
  up(connection: NatsConnection, fresh: boolean): void;
  down(): void;
  error(error: GleanerError): void;
}

const RETRY_MIN = 250;
const RETRY_MAX = 5000;

/** Connects again whenever the client closes (refused credentials, a failed first connect). */
export class NatsLink {
  readonly #options: ConnectionOptions;
  readonly #servers: readonly string[];
  readonly #timers: Timers;
  readonly #listener: LinkListener;
  readonly #stop = new AbortController();
  #connection: NatsConnection | null = null;
  #connected = false;
  #retry: number = RETRY_MIN;
  #cancelRetry: Cancel = () => {};
  #lastLoggedError = '';
  #attempt: Promise<void> = Promise.resolve();

  constructor(options: ConnectionOptions, timers: Timers, listener: LinkListener) {
    this.#options = options;
    this.#servers = [options.servers ?? []].flat();
    this.#timers = timers;
    this.#listener = listener;
  }

  get connection(): NatsConnection | null {
    return this.#connected ? this.#connection : null;
  }

  get #stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  start(): void {
    this.#attempt = this.#tryOnce();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancelRetry();
    await this.#attempt;
    const connection = this.#connection;
    this.#connection = null;
    this.#connected = false;
    if (connection && !connection.isClosed()) await connection.close();
  }

  async #tryOnce(): Promise<void> {
    let connection: NatsConnection;
    try {
      connection = await connectClosing(this.#options, this.#stop.signal);
    } catch (error) {
      this.#failed(error);
      return;
    }
    if (this.#stopped) {
      await connection.close();
      return;
    }
    this.#connection = connection;
    this.#connected = true;
    this.#retry = RETRY_MIN;
    this.#lastLoggedError = '';
    void this.#follow(connection);
    void connection.closed().then((error) => {
      if (this.#connection !== connection) return;
      this.#connection = null;
      this.#setDisconnected();
      if (!this.#stopped) this.#failed(error ?? new Error('the connection was closed'));
    });
    this.#listener.up(connection, true);
  }

  async #follow(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (this.#connection !== connection || this.#stopped) return;
      if (status.type === Events.Disconnect) {
        this.#setDisconnected();
      } else if (status.type === Events.Reconnect) {
        this.#connected = true;
        this.#lastLoggedError = '';
        this.#listener.up(connection, false);
      } else if (status.type === Events.Error) {
        const context = status.permissionContext;
        const detail = context
          ? `${String(status.data)}: ${context.operation} ${context.subject}`
          : String(status.data);
        const error = new NatsError(detail, String(status.data));
        this.#tell(connectionError('the server reported', error));
      }
    }
  }

  #setDisconnected(): void {
    if (!this.#connected) return;
    this.#connected = false;
    if (!this.#stopped) this.#listener.down();
  }

  #failed(error: unknown): void {
    if (this.#stopped) return;
    this.#tell(connectError(this.#servers, error));
    const delay = isAuthError(error) ? RETRY_MAX : this.#retry;
    this.#retry = Math.min(RETRY_MAX, this.#retry * 2);
    this.#cancelRetry = this.#timers.after(delay as Millis, () => {
      this.#attempt = this.#tryOnce();
    });
  }

  /** Reports each kind once until the next connect: a long outage is one log line. */
  #tell(told: GleanerError): void {
    const key = told.code === 'GLN_BROKER_AUTH' ? told.message : told.code;
    if (key === this.#lastLoggedError) return;
    this.#lastLoggedError = key;
    this.#listener.error(told);
  }
}
