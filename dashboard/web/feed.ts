import type { Snapshot, Tick } from '../wire.js';
import type { State } from './state.js';

/** Longest time between ticks, which come once a second. */
const SILENCE_MAX_MILLIS = 5000;
/** Longest time until the first snapshot, which may be large and the link slow. */
const OPENING_MAX_MILLIS = 30_000;
/** After a refusal (too many pages) the browser does not reconnect. */
const REFUSED_MILLIS = 3000;

export interface FeedState {
  readonly isReceiving: boolean;
  /** Time of the last event, or of the start, seconds since 1970. */
  readonly since: number;
}

/**
 * Applies server-sent events to the state. The browser reconnects if the connection is closed; a
 * connection that is only silent is opened again.
 */
export class Feed {
  readonly #state: State;
  readonly #changed: () => void;
  #feed: FeedState = { isReceiving: false, since: Date.now() / 1000 };
  #source: EventSource | null = null;
  /** When to open again unless an event comes, by `performance.now()`. */
  #reopenAt = 0;

  constructor(state: State, changed: () => void) {
    this.#state = state;
    this.#changed = changed;
  }

  get state(): FeedState {
    return this.#feed;
  }

  start(): void {
    this.#open();
    setInterval(() => {
      if (performance.now() >= this.#reopenAt) {
        this.#lost();
        this.#open();
      } else if (!this.#feed.isReceiving) this.#changed();
    }, 1000);
  }

  #open(): void {
    this.#source?.close();
    const source = new EventSource('/api/stream');
    this.#source = source;
    this.#reopenIn(OPENING_MAX_MILLIS);
    const take = (apply: (text: string) => void) => (event: Event) => {
      this.#feed = { isReceiving: true, since: Date.now() / 1000 };
      this.#reopenIn(SILENCE_MAX_MILLIS);
      apply((event as MessageEvent<string>).data);
      this.#changed();
    };
    source.addEventListener(
      'snapshot',
      take((text) => this.#state.reset(JSON.parse(text) as Snapshot)),
    );
    source.addEventListener(
      'tick',
      take((text) => this.#state.apply(JSON.parse(text) as Tick)),
    );
    source.addEventListener('error', () => {
      this.#reopenIn(
        source.readyState === EventSource.CLOSED ? REFUSED_MILLIS : OPENING_MAX_MILLIS,
      );
      this.#lost();
    });
  }

  #reopenIn(millis: number): void {
    this.#reopenAt = performance.now() + millis;
  }

  #lost(): void {
    this.#feed = { ...this.#feed, isReceiving: false };
    this.#changed();
  }
}
