import {
  type Cancel,
  type Clock,
  GleanerError,
  type Micros,
  millis,
  type Timers,
} from '../../../config/index.js';
import {
  type EngineEvents,
  type EngineEventsListener,
  EngineResponseError,
  EngineStatusError,
  type EngineTime,
  EngineUnavailableError,
  engineError,
  ReconnectDelay,
} from '../engine/index.js';
import { type CriClient, EVENTS } from './cri.js';
import { type Message, message } from './protobuf.js';

const FILTER = 'namespace==k8s.io,topic~="^/tasks/(start|exit|oom|paused|resumed)$"';
const UNIMPLEMENTED = 12;
/** containerd does not show when the subscription begins: a second listing closes the gap. */
const OVERLAP = millis(1000);
/** Interval for a runtime without this service, such as CRI-O. */
const POLL = millis(1000);

/**
 * containerd's events of containers that run (`containerd.services.events.v1`), reconnected with
 * growing pauses. A runtime that has none is listed each second.
 */
export class ContainerdEvents implements EngineEvents {
  readonly #cri: CriClient;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #delay: ReconnectDelay;
  readonly #listener: EngineEventsListener;
  #connectedAt = Number.NaN;
  #cancelStream: () => void = () => undefined;
  #cancelTimer: Cancel | null = null;
  /** Numbers the connections: a late end of an earlier one says nothing. */
  #connection = 0;
  #stopped = false;

  constructor(
    cri: CriClient,
    { clock, timers, random }: EngineTime,
    listener: EngineEventsListener,
  ) {
    this.#cri = cri;
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
    this.#cancelTimer?.();
    this.#cancelStream();
  }

  reconnect(error: GleanerError): void {
    this.#cancelStream();
    this.#cri.grpc.close();
    this.#again(this.#connection, error);
  }

  async #connect(): Promise<void> {
    const connection = ++this.#connection;
    this.#connectedAt = Number.NaN;
    this.#cancelStream = this.#cri.grpc.stream(EVENTS, message([1, FILTER]), {
      message: (envelope) => {
        if (connection === this.#connection) this.#envelope(envelope);
      },
      ended: (error) => this.#ended(connection, error),
    });
    try {
      // The stream has no head before its first event: another call shows that the runtime answers.
      await this.#cri.version();
    } catch (error) {
      this.#cancelStream();
      this.#again(connection, error);
      return;
    }
    if (this.#stopped || connection !== this.#connection) return;
    this.#connectedAt = this.#clock.monotonic();
    this.#listener.subscribed();
    this.#cancelTimer ??= this.#timers.after(OVERLAP, () => {
      this.#cancelTimer = null;
      this.#listener.changed();
    });
  }

  #ended(connection: number, error: Error | null): void {
    const isMissing = error instanceof EngineStatusError && error.status === UNIMPLEMENTED;
    if (!isMissing) {
      this.#again(
        connection,
        error ?? new EngineUnavailableError('the container runtime closed its event stream'),
      );
    } else if (connection === this.#connection && !this.#stopped) {
      this.#cancelTimer?.();
      this.#cancelTimer = this.#timers.every(POLL, () => this.#listener.changed());
    }
  }

  /** An envelope: when (1), namespace (2), topic (3), event (4) as type (1) and bytes (2). */
  #envelope(envelope: Message): void {
    try {
      const event = envelope.message(4).message(2);
      const id = event.text(1);
      switch (envelope.text(3)) {
        case '/tasks/start':
          this.#listener.started(id);
          break;
        case '/tasks/exit': {
          // Also sent for each process that a probe or `exec` started in the container.
          const process = event.text(2);
          if (process === id || process === '')
            this.#listener.ended(id, microsOf(event.message(5)));
          break;
        }
        case '/tasks/oom':
          this.#listener.oom(id);
          break;
        case '/tasks/paused':
          this.#listener.paused(id, true);
          break;
        case '/tasks/resumed':
          this.#listener.paused(id, false);
          break;
        default:
          this.#listener.skipped('unknown');
      }
    } catch (error) {
      if (!(error instanceof EngineResponseError)) throw error;
      this.#listener.skipped('malformed');
    }
  }

  #again(connection: number, error: unknown): void {
    if (this.#stopped || connection !== this.#connection) return;
    this.#connection++;
    this.#cancelTimer?.();
    const pause = this.#delay.next(this.#clock.monotonic() - this.#connectedAt);
    this.#cancelTimer = this.#timers.after(pause, () => {
      this.#cancelTimer = null;
      void this.#connect();
    });
    this.#listener.lost(error instanceof GleanerError ? error : engineError(error));
  }
}

/** `google.protobuf.Timestamp`: seconds (1) and nanoseconds (2). Null: not set. */
function microsOf(stamp: Message): Micros | null {
  const seconds = stamp.number(1);
  return seconds === 0 ? null : ((seconds * 1e6 + Math.floor(stamp.number(2) / 1000)) as Micros);
}
