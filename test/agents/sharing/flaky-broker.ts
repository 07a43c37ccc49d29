import type { Broker, KeyValue, KeyValueEntry } from '../../../broker/index.js';
import {
  type Cancel,
  type Clock,
  GleanerError,
  type Micros,
  type Millis,
  type Random,
  type Timers,
} from '../../../config/index.js';

export class LostError extends GleanerError {
  readonly code = 'GLN_TEST_LOST';
}

/** A process on a machine with a clock of its own, that can be held as SIGSTOP does: its timers and what it would hear wait. */
export class Machine implements Clock, Timers {
  readonly #time: Clock & Timers;
  readonly #rate: number;
  readonly #offset: number;
  readonly #late: (() => void)[] = [];
  held = false;
  dead = false;

  /** `rate`: of its clock against true time. */
  constructor(time: Clock & Timers, rate: number, offset: number) {
    this.#time = time;
    this.#rate = rate;
    this.#offset = offset;
  }

  monotonic(): Millis {
    return (this.#offset + this.#time.monotonic() * this.#rate) as Millis;
  }

  wall(): Micros {
    return this.#time.wall();
  }

  after(delay: Millis, run: () => void): Cancel {
    return this.#time.after((delay / this.#rate) as Millis, () => this.run(run));
  }

  every(period: Millis, run: () => void): Cancel {
    return this.#time.every((period / this.#rate) as Millis, () => this.run(run));
  }

  run(work: () => void): void {
    if (this.dead) return;
    if (this.held) this.#late.push(work);
    else work();
  }

  resume(): void {
    this.held = false;
    for (const work of this.#late.splice(0)) work();
  }
}

export interface Flakiness {
  /** Longest way of a request or an answer, ms. */
  readonly delay: number;
  /** Share of requests that never arrive, and of answers that never come back. */
  readonly lost: number;
}

/** The stores of a broker as one machine sees them: late, and sometimes without an answer, whatever has been written. */
export function flakyBroker(
  inner: Broker,
  machine: Machine,
  time: Timers,
  random: Random,
  flakiness: () => Flakiness,
): Broker {
  const operation = <T>(act: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const { delay, lost } = flakiness();
      const way = (): Millis => (delay * random.next()) as Millis;
      const lose = (): void => void machine.after(500 as Millis, () => reject(new LostError('lost', { hint: 'none' })));
      if (random.next() < lost) {
        lose();
        return;
      }
      // A request that has left its machine arrives, whatever becomes of the machine.
      time.after(way(), () => {
        act().then(
          (value) => {
            if (random.next() < lost) lose();
            else time.after(way(), () => machine.run(() => resolve(value)));
          },
          (error: unknown) => machine.run(() => reject(error)),
        );
      });
    });
  const keyValue = (bucket: string): KeyValue => {
    const kv = inner.keyValue(bucket);
    return {
      get: (key) => operation(() => kv.get(key)),
      put: (key, value) => operation(() => kv.put(key, value)),
      create: (key, value) => operation(() => kv.create(key, value)),
      update: (key, value, revision) => operation(() => kv.update(key, value, revision)),
      delete: (key) => operation(() => kv.delete(key)),
      deleteAt: (key, revision) => operation(() => kv.deleteAt(key, revision)),
      keys: () => operation(() => kv.keys()),
      watch: (listener) => {
        // Late, but in order for each key.
        const due = new Map<string, number>();
        return kv.watch((entry: KeyValueEntry) => {
          const at = Math.max(due.get(entry.key) ?? 0, machine.monotonic() + flakiness().delay * random.next());
          due.set(entry.key, at);
          machine.after((at - machine.monotonic()) as Millis, () => listener(entry));
        });
      },
    };
  };
  return new Proxy(inner, {
    get: (target, name) => {
      if (name === 'keyValue') return keyValue;
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
