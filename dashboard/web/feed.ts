import type { Snapshot, Tick } from '../wire.js';
import type { State } from './state.js';

export interface FeedState {
  readonly isReceiving: boolean;
  /** Time of the last change, seconds since 1970. */
  readonly since: number;
}

/** Applies server-sent events to the state. The browser reconnects by itself. */
export class Feed {
  readonly #state: State;
  readonly #changed: () => void;
  #feed: FeedState = { isReceiving: false, since: Date.now() / 1000 };

  constructor(state: State, changed: () => void) {
    this.#state = state;
    this.#changed = changed;
  }

  get state(): FeedState {
    return this.#feed;
  }

  start(): void {
    const source = new EventSource('/api/stream');
    const take = (apply: (text: string) => void) => (event: Event) => {
      if (!this.#feed.isReceiving) this.#feed = { isReceiving: true, since: Date.now() / 1000 };
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
      if (this.#feed.isReceiving) this.#feed = { isReceiving: false, since: Date.now() / 1000 };
      this.#changed();
      // After a refusal (too many pages) the browser does not reconnect.
      if (source.readyState !== EventSource.CLOSED) return;
      source.close();
      setTimeout(() => this.start(), 3000);
    });
  }
}
