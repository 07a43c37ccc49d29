import type { TapView } from '../../broker/services/index.js';
import type { Micros } from '../../config/index.js';

interface State {
  listens: boolean;
  cause: string;
  /** Wall-clock time since when user limits apply. */
  since: Micros;
}

/** Name of the only interface of a tap that does not distinguish interfaces. */
const ALL = '*';

/** The interfaces on which the tap sees all packets: from its listening to a loss. */
export class TapState {
  readonly #states = new Map<string, State>();

  /** Sets the interfaces to listen on. Returns those that were removed. */
  watching(interfaces: readonly string[], at: Micros): readonly string[] {
    const gone = [...this.#states.keys()].filter(
      (name) => name !== ALL && !interfaces.includes(name),
    );
    for (const name of gone) this.#states.delete(name);
    for (const name of interfaces)
      if (!this.#states.has(name)) this.#states.set(name, { listens: false, cause: '', since: at });
    return gone;
  }

  /** True if this ends a loss. Null: every interface. */
  listening(name: string | null): boolean {
    let recovered = false;
    for (const state of this.#those(name)) {
      if (!state.listens && state.cause !== '') recovered = true;
      state.listens = true;
      state.cause = '';
    }
    return recovered;
  }

  /** Keeps the time of the first of several losses, and the newest cause. Null: every interface. */
  lost(name: string | null, cause: string, at: Micros): void {
    for (const state of this.#those(name)) {
      if (state.listens) state.since = at;
      state.listens = false;
      state.cause = cause;
    }
  }

  /** `name`: null for a container without a bridge. */
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
