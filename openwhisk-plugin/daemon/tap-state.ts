import type { TapView } from '../../broker/services/index.js';
import type { Micros } from '../../config/index.js';

interface State {
  listens: boolean;
  cause: string;
  /** Since when user limits stand, wall clock. */
  since: Micros;
}

/** Interface that stands for all of a tap which does not tell them apart. */
const ALL = '*';

/**
 * On which interfaces the tap can be trusted. It is the one source of that: limits are decided, and
 * views made, from here. An interface is not trusted before its tap has begun to listen, nor from a
 * loss until it listens again.
 */
export class TapState {
  readonly #states = new Map<string, State>();

  /** The interfaces that should be listened on from now on. Returns those that no longer should. */
  watching(interfaces: readonly string[], at: Micros): readonly string[] {
    const gone = [...this.#states.keys()].filter(
      (name) => name !== ALL && !interfaces.includes(name),
    );
    for (const name of gone) this.#states.delete(name);
    for (const name of interfaces)
      if (!this.#states.has(name)) this.#states.set(name, { listens: false, cause: '', since: at });
    return gone;
  }

  /** True when that ends a loss. Null: every interface. */
  listening(name: string | null): boolean {
    let recovered = false;
    for (const state of this.#those(name)) {
      if (!state.listens && state.cause !== '') recovered = true;
      state.listens = true;
      state.cause = '';
    }
    return recovered;
  }

  /** The time of the first of several losses stays, and the newest cause. Null: every interface. */
  lost(name: string | null, cause: string, at: Micros): void {
    for (const state of this.#those(name)) {
      if (state.listens) state.since = at;
      state.listens = false;
      state.cause = cause;
    }
  }

  /** `name`: null for a container that hangs on no bridge. */
  listens(name: string | null): boolean {
    return (this.#states.get(name ?? ALL) ?? this.#states.get(ALL))?.listens ?? false;
  }

  views(): TapView[] {
    const named =
      this.#states.size > 1
        ? [...this.#states].filter(([name]) => name !== ALL)
        : [...this.#states];
    return named.map(([name, { listens, cause, since }]) => ({
      interface: name,
      state: listens ? 'listening' : cause === '' ? 'starting' : 'lost',
      cause: cause.slice(0, 500),
      since: listens ? null : Math.round(since / 1000),
    }));
  }

  *#those(name: string | null): Iterable<State> {
    const requested = name ?? ALL;
    if (!this.#states.has(requested))
      this.#states.set(requested, { listens: false, cause: '', since: 0 as Micros });
    for (const [known, state] of this.#states) if (name === null || known === name) yield state;
  }
}
