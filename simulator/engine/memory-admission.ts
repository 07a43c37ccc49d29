import { type ActivationColumns, type Activations, Phase } from './activations.js';
import type { Containers } from './containers.js';
import type { ClusterShape } from './options.js';
import { Prewarmed } from './prewarmed.js';
import type { TimerList } from './timer-list.js';

/** Told of what gives way, and of what has become free. */
export interface MemoryAdmissionListener {
  /** No longer idle; it is to be taken away. */
  remove(container: number, now: number): void;
  freed(host: number, now: number): void;
}

/** What `take` has found, besides a kind of prewarmed containers: room for a new one, or none. */
export const NEW_CONTAINER = -1;
export const NO_MEMORY = -2;

/**
 * Nominal memory of the hosts: who may come in, who gives way, which prewarmed containers stand
 * ready. Constant time each.
 */
export class MemoryAdmission {
  readonly #c: ActivationColumns;
  readonly #activations: Activations;
  readonly #containers: Containers;
  readonly #timerList: TimerList;
  readonly #shape: ClusterShape;
  readonly #idleMicros: number;
  readonly #listener: MemoryAdmissionListener;
  readonly #prewarmed: Prewarmed;

  constructor(
    activations: Activations,
    containers: Containers,
    timerList: TimerList,
    shape: ClusterShape,
    listener: MemoryAdmissionListener,
  ) {
    this.#c = activations.columns;
    this.#activations = activations;
    this.#containers = containers;
    this.#timerList = timerList;
    this.#shape = shape;
    this.#idleMicros = shape.idleMs * 1000;
    this.#listener = listener;
    this.#prewarmed = new Prewarmed(shape);
  }

  /** Without anybody giving way. MiB. */
  hasMemory(host: number, memory: number): boolean {
    return this.#containers.admitted[host]! + memory <= this.#shape.userMemoryMiB;
  }

  /**
   * Memory for a container that is made right after this: of a prewarmed one, whose kind it
   * returns; else {@link NEW}, or {@link NO_ROOM}.
   */
  take(host: number, memory: number, now: number): number {
    const kind = this.#prewarmed.of(host, memory);
    if (kind < 0) return this.#evictForMemory(host, memory, now) ? NEW_CONTAINER : NO_MEMORY;
    this.#containers.admitted[host] = this.#containers.admitted[host]! - memory;
    this.#prewarmed.take(host, kind);
    return kind;
  }

  /**
   * Removes what has been idle for too long. Nothing else happens at that time, so it is done when
   * somebody looks.
   */
  expire(host: number, now: number): void {
    const containers = this.#containers;
    for (;;) {
      const oldest = containers.oldestIdle(host);
      if (oldest < 0 || containers.columns.idleAt[oldest]! + this.#idleMicros > now) return;
      this.evict(oldest, now);
    }
  }

  evict(container: number, now: number): void {
    this.#containers.removeIdle(container);
    this.#listener.remove(container, now);
  }

  /** The host is gone: nothing idle or ready is left. */
  clear(host: number, now: number): void {
    const containers = this.#containers;
    for (
      let oldest = containers.oldestIdle(host);
      oldest >= 0;
      oldest = containers.oldestIdle(host)
    )
      this.evict(oldest, now);
    containers.admitted[host] = containers.admitted[host]! - this.#prewarmed.clear(host);
  }

  /** A host begins, or comes back: its prewarmed containers are made. */
  prewarmHost(host: number, now: number): void {
    this.#shape.prewarm.forEach(({ count }, kind) => {
      for (let i = 0; i < count; i++) this.startPrewarming(host, kind, now);
    });
  }

  /** Makes one more of a kind. No idle container gives way for one that nobody has asked for. */
  startPrewarming(host: number, kind: number, now: number): void {
    const { memoryMiB, coldStartMs } = this.#shape.prewarm[kind]!;
    if (!this.hasMemory(host, memoryMiB)) return;
    this.#containers.admitted[host] = this.#containers.admitted[host]! + memoryMiB;
    const a = this.#activations.allocate();
    this.#c.host[a] = host;
    this.#c.container[a] = kind;
    this.#c.work[a] = memoryMiB;
    this.#timerList.startTimer(a, Phase.prewarming, now + Math.round(coldStartMs * 1000));
  }

  /** It is ready. Somebody may have waited for it, or for its memory. */
  prewarmReady(a: number, now: number): void {
    const host = this.#c.host[a]!;
    this.#prewarmed.add(host, this.#c.container[a]!);
    this.#activations.release(a);
    this.#listener.freed(host, now);
  }

  /** It will never be ready. */
  cancelPrewarming(a: number): void {
    const host = this.#c.host[a]!;
    this.#timerList.remove(a);
    this.#containers.admitted[host] = this.#containers.admitted[host]! - this.#c.work[a]!;
    this.#activations.release(a);
  }

  /** Orders idle containers away, least recently used first, if that makes room. */
  #evictForMemory(host: number, need: number, now: number): boolean {
    const containers = this.#containers;
    const limit = this.#shape.userMemoryMiB - need;
    if (containers.admitted[host]! <= limit) return true;
    const busy = containers.admitted[host]! - containers.idleMemory[host]!;
    if (busy - this.#prewarmed.memory(host) > limit) return false;
    while (containers.admitted[host]! > limit) {
      const oldest = containers.oldestIdle(host);
      if (oldest >= 0) this.evict(oldest, now);
      // A prewarmed one gives way where nothing else can, and is not made again: a call must not
      // wait for ever.
      else containers.admitted[host] = containers.admitted[host]! - this.#prewarmed.takeAny(host);
    }
    return true;
  }
}
