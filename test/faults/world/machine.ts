import { BrokerDisconnectedError, StoreTimeoutError } from '../../../broker/errors.js';
import type {
  Broker,
  BrokerMessage,
  KeyValue,
  KeyValueEntry,
  ObjectStore,
} from '../../../broker/index.js';
import type { BrokerStatus } from '../../../broker/port.js';
import type { Cancel, Clock, Micros, Millis, Random, Timers } from '../../../config/index.js';

/**
 * A process on a machine with a clock of its own. It can be held as SIGSTOP does (its timers and
 * what it would hear wait until it goes on) and killed as SIGKILL does (nothing of it runs any
 * more).
 */
export class Machine implements Clock, Timers {
  readonly #time: Clock & Timers;
  readonly #rate: number;
  readonly #offset: number;
  readonly #late: (() => void)[] = [];
  held = false;
  dead = false;
  /** How far the wall clock has been set from the true time, ms. */
  wallStep = 0;

  /** `rate`: of its monotonic clock against true time; `offset`: where that clock began, ms. */
  constructor(time: Clock & Timers, rate: number, offset: number) {
    this.#time = time;
    this.#rate = rate;
    this.#offset = offset;
  }

  monotonic(): Millis {
    return (this.#offset + this.#time.monotonic() * this.#rate) as Millis;
  }

  wall(): Micros {
    return (this.#time.wall() + this.wallStep * 1000) as Micros;
  }

  after(delay: Millis, run: () => void): Cancel {
    return this.#time.after((delay / this.#rate) as Millis, () => this.run(run));
  }

  every(period: Millis, run: () => void): Cancel {
    return this.#time.every((period / this.#rate) as Millis, () => this.run(run));
  }

  /** Of the process: now, or when it goes on, or never. */
  run(work: () => void): void {
    if (this.dead) return;
    if (this.held) this.#late.push(work);
    else work();
  }

  resume(): void {
    this.held = false;
    for (const work of this.#late.splice(0)) this.run(work);
  }
}

export interface Flakiness {
  /** Longest way of a message, a request or an answer, ms. */
  readonly delay: number;
  /** Share of requests to stores that never arrive, and of answers that never come back. */
  readonly lost: number;
}

/** How long a request to a store is waited for, ms. */
const STORE_TIMEOUT = 500 as Millis;

/**
 * A broker as one process on a machine sees it: messages late but in order, requests to stores late
 * and sometimes without an answer, whatever has been written; nothing at all while its connection
 * is cut.
 */
export class FlakyBroker implements Broker {
  readonly kind = 'memory';
  readonly #inner: Broker;
  readonly #machine: Machine;
  readonly #time: Clock & Timers;
  readonly #random: Random;
  readonly #flakiness: () => Flakiness;
  readonly #listeners = new Set<(status: BrokerStatus) => void>();
  readonly #watches = new Set<() => void>();
  #cut = false;
  /** When what was sent last arrives: what is sent later does not overtake it. */
  #sent = 0;
  #heard = 0;

  constructor(
    inner: Broker,
    machine: Machine,
    time: Clock & Timers,
    random: Random,
    flakiness: () => Flakiness,
  ) {
    this.#inner = inner;
    this.#machine = machine;
    this.#time = time;
    this.#random = random;
    this.#flakiness = flakiness;
    inner.onStatus(() => this.#emit());
  }

  get connected(): boolean {
    return this.#inner.connected && !this.#cut;
  }

  get counters() {
    return this.#inner.counters;
  }

  /** The connection is lost, or back. */
  set cut(cut: boolean) {
    if (cut === this.#cut) return;
    this.#cut = cut;
    this.#emit();
    if (!cut) for (const again of this.#watches) again();
  }

  get stores() {
    return this.#inner.stores;
  }

  get refusedSubjects() {
    return this.#inner.refusedSubjects;
  }

  publish(subject: string, data: Uint8Array, options?: Parameters<Broker['publish']>[2]): boolean {
    if (!this.connected || this.#machine.dead) return false;
    this.#sent = this.#after(this.#sent, () => this.#inner.publish(subject, data, options));
    return true;
  }

  subscribe(subject: string, handler: (message: BrokerMessage) => void, queue?: string) {
    return this.#inner.subscribe(
      subject,
      (message) => {
        if (this.#cut) return;
        this.#heard = this.#after(this.#heard, () => this.#machine.run(() => handler(message)));
      },
      queue,
    );
  }

  request(...args: Parameters<Broker['request']>): ReturnType<Broker['request']> {
    return this.#cut
      ? Promise.reject(new BrokerDisconnectedError(`request ${args[0]}`))
      : this.#inner.request(...args);
  }

  requestMany(...args: Parameters<Broker['requestMany']>): ReturnType<Broker['requestMany']> {
    return this.#cut ? Promise.resolve([]) : this.#inner.requestMany(...args);
  }

  keyValue(bucket: string): KeyValue {
    const kv = this.#inner.keyValue(bucket);
    return {
      get: (key) => this.#operation(() => kv.get(key)),
      put: (key, value) => this.#operation(() => kv.put(key, value)),
      create: (key, value) => this.#operation(() => kv.create(key, value)),
      update: (key, value, revision) => this.#operation(() => kv.update(key, value, revision)),
      delete: (key) => this.#operation(() => kv.delete(key)),
      deleteAt: (key, revision) => this.#operation(() => kv.deleteAt(key, revision)),
      keys: () => this.#operation(() => kv.keys()),
      sweep: (own, judge) => this.#operation(() => kv.sweep(own, judge)),
      watch: (listener) => this.#watch(kv, listener),
    };
  }

  objects(store: string): ObjectStore {
    const objects = this.#inner.objects(store);
    return {
      put: (name, data) => this.#operation(() => objects.put(name, data)),
      get: (name) => this.#operation(() => objects.get(name)),
      delete: (name) => this.#operation(() => objects.delete(name)),
      names: () => this.#operation(() => objects.names()),
    };
  }

  stream(...args: Parameters<Broker['stream']>): ReturnType<Broker['stream']> {
    return this.#inner.stream(...args);
  }

  onStatus(listener: (status: BrokerStatus) => void): Cancel {
    this.#listeners.add(listener);
    queueMicrotask(() => this.#machine.run(() => listener(this.#status())));
    return () => this.#listeners.delete(listener);
  }

  async flush(): Promise<void> {
    if (!this.connected) throw new BrokerDisconnectedError('flush');
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #status(): BrokerStatus {
    return this.connected ? { kind: 'connected', server: 'memory' } : { kind: 'disconnected' };
  }

  #emit(): void {
    const status = this.#status();
    for (const listener of this.#listeners) this.#machine.run(() => listener(status));
  }

  #after(earlier: number, act: () => void): number {
    const now = this.#time.monotonic();
    const at = Math.max(earlier, now + this.#flakiness().delay * this.#random.next());
    this.#time.after((at - now) as Millis, act);
    return at;
  }

  /**
   * A change that is missed while the connection is cut is told when it is back, as after any
   * reconnect.
   */
  #watch(kv: KeyValue, listener: (entry: KeyValueEntry) => void) {
    const missed = new Map<string, KeyValueEntry>();
    let due = 0;
    const deliver = (entry: KeyValueEntry): void => {
      due = this.#after(due, () => this.#machine.run(() => listener(entry)));
    };
    const again = (): void => {
      for (const entry of missed.values()) deliver(entry);
      missed.clear();
    };
    this.#watches.add(again);
    const watch = kv.watch((entry) => {
      if (this.#cut) missed.set(entry.key, entry);
      else deliver(entry);
    });
    return {
      ready: watch.ready,
      stop: () => {
        this.#watches.delete(again);
        watch.stop();
      },
    };
  }

  #operation<T>(act: () => Promise<T>): Promise<T> {
    if (this.#cut) return Promise.reject(new BrokerDisconnectedError('a store'));
    return new Promise((resolve, reject) => {
      const { delay, lost } = this.#flakiness();
      const way = (): Millis => (delay * this.#random.next()) as Millis;
      const lose = (): void =>
        void this.#machine.after(STORE_TIMEOUT, () =>
          reject(new StoreTimeoutError('a store', STORE_TIMEOUT)),
        );
      if (this.#random.next() < lost) {
        lose();
        return;
      }
      // A request that has left its machine arrives, whatever becomes of the machine.
      this.#time.after(way(), () => {
        act().then(
          (value) => {
            if (this.#cut || this.#random.next() < lost) lose();
            else this.#time.after(way(), () => this.#machine.run(() => resolve(value)));
          },
          (error: unknown) => this.#machine.run(() => reject(error)),
        );
      });
    });
  }
}
