import { type ConnectionOptions, Events, type NatsConnection, NatsError } from 'nats';
import type { Cancel, Clock, GleanerError, Millis, Timers } from '../../config/index.js';
import { SUBJECT_PREFIX } from '../subjects.js';
import { connectClosing } from './closing-transport.js';
import { connectError, connectionError, isAuthError } from './nats-errors.js';

export interface LinkListener {
  /** Connected. `fresh`: by a new connection, on which nothing is subscribed yet. */
  up(connection: NatsConnection, fresh: boolean): void;
  down(): void;
  /** `suppressed`: errors of the same kind since the last one that was reported. */
  error(error: GleanerError, suppressed: number): void;
  /** The user lacks the permission to subscribe to it, or has lost it. */
  subscriptionRefused(subject: string): void;
}

interface LinkTime {
  readonly timers: Timers;
  readonly clock: Clock;
}

const RETRY_MIN = 250;
const RETRY_MAX = 5000;
/** Interval of reports of one kind of missing permission, ms. */
const REPEAT_MILLIS = 60_000;
/** Leading tokens of a subject that say its kind; the next ones name a function, a key, a reply. */
const KIND_TOKENS: readonly (readonly [prefix: string, count: number])[] = [
  ['_', 1],
  ['$KV.', 2],
  ['$JS.', 5],
  [`${SUBJECT_PREFIX}.svc.`, 5],
  ['', 3],
];

/** What a subject is for: a bounded number of kinds, whatever the functions. */
function subjectKind(subject: string): string {
  const [, count] = KIND_TOKENS.find(([prefix]) => subject.startsWith(prefix))!;
  return subject.split('.', count).join('.');
}

/** Connects again whenever the client closes (refused credentials, a failed first connect). */
export class NatsLink {
  readonly #options: ConnectionOptions;
  readonly #servers: readonly string[];
  readonly #timers: Timers;
  readonly #clock: Clock;
  readonly #listener: LinkListener;
  readonly #stop = new AbortController();
  #connection: NatsConnection | null = null;
  #connected = false;
  #retry: number = RETRY_MIN;
  #cancelRetry: Cancel = () => {};
  /** By kind of error, since the last connect: when it was reported, and how many came since. */
  readonly #reported = new Map<string, { at: number; suppressed: number }>();
  #failedDials = 0;
  #problem: GleanerError | null = null;
  #attempt: Promise<void> = Promise.resolve();

  constructor(options: ConnectionOptions, time: LinkTime, listener: LinkListener) {
    this.#options = options;
    this.#servers = [options.servers ?? []].flat();
    this.#timers = time.timers;
    this.#clock = time.clock;
    this.#listener = listener;
  }

  get connection(): NatsConnection | null {
    return this.#connected ? this.#connection : null;
  }

  /** Why there is no connection; null: there is one, or no attempt has failed yet. */
  get problem(): GleanerError | null {
    return this.#problem;
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
      connection = await connectClosing(this.#options, this.#stop.signal, (error) =>
        this.#dialFailed(error),
      );
    } catch (error) {
      this.#failed(error);
      return;
    }
    if (this.#stopped) {
      await connection.close();
      return;
    }
    this.#connection = connection;
    this.#setConnected();
    this.#retry = RETRY_MIN;
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
        this.#setConnected();
        this.#listener.up(connection, false);
      } else if (status.type === Events.Error) {
        const context = status.permissionContext;
        const detail = context
          ? `${String(status.data)}: ${context.operation} ${context.subject}`
          : String(status.data);
        const error = connectionError(
          'the server reported',
          new NatsError(detail, String(status.data)),
        );
        if (context) this.#tell(error, `${context.operation} ${subjectKind(context.subject)}`);
        else this.#tell(error);
        if (context?.operation === 'subscription')
          this.#listener.subscriptionRefused(context.subject);
      }
    }
  }

  #setConnected(): void {
    this.#connected = true;
    this.#failedDials = 0;
    this.#problem = null;
    this.#reported.clear();
  }

  #setDisconnected(): void {
    if (!this.#connected) return;
    this.#connected = false;
    if (!this.#stopped) this.#listener.down();
  }

  /** The client connects again by itself: reported when it has tried every server. */
  #dialFailed(error: unknown): void {
    if (this.#stopped || this.#connection === null || this.#connected) return;
    this.#failedDials++;
    if (this.#failedDials >= this.#servers.length) this.#away(error);
  }

  #failed(error: unknown): void {
    if (this.#stopped) return;
    this.#away(error);
    const delay = isAuthError(error) ? RETRY_MAX : this.#retry;
    this.#retry = Math.min(RETRY_MAX, this.#retry * 2);
    this.#cancelRetry = this.#timers.after(delay as Millis, () => {
      this.#attempt = this.#tryOnce();
    });
  }

  #away(error: unknown): void {
    this.#problem = connectError(this.#servers, error);
    this.#tell(this.#problem);
  }

  /**
   * Reports each kind once until the next connect: a long outage is one log line. A missing
   * permission, of which each message is refused, is reported again each minute.
   */
  #tell(told: GleanerError, permission = ''): void {
    const detail = permission === '' && told.code === 'GLN_BROKER_AUTH' ? told.message : permission;
    const key = `${told.code} ${detail}`;
    const now = this.#clock.monotonic();
    const before = this.#reported.get(key);
    if (before && (permission === '' || now - before.at < REPEAT_MILLIS)) {
      before.suppressed++;
      return;
    }
    this.#reported.set(key, { at: now, suppressed: 0 });
    this.#listener.error(told, before?.suppressed ?? 0);
  }
}
