import { type ActivationColumns, type Activations, Phase } from './activations.js';
import type { Containers } from './containers.js';
import type { ClusterShape } from './options.js';
import { Prewarmed } from './prewarmed.js';
import type { TimerList } from './timer-list.js';

/** Called when memory is taken from a container or becomes free. */
export interface MemoryAdmissionListener {
  /** Remove it; it no longer counts as idle. */
  remove(container: number, now: number): void;
  freed(host: number, now: number): void;
}

/** What `take` returns besides a kind of prewarmed container: create a new one, or no memory. */
export const NEW_CONTAINER = -1;
export const NO_MEMORY = -2;

/**
 * Nominal memory of the hosts: admission, eviction, and prewarmed containers. Constant time each.
 */
export class MemoryAdmission {
  /** By host: containers that are created ahead, which the balancer does not know, MiB. */
  declare readonly ahead: Float64Array;
  declare private readonly c: ActivationColumns;
  declare private readonly activations: Activations;
  declare private readonly containers: Containers;
  declare private readonly timerList: TimerList;
  declare private readonly shape: ClusterShape;
  declare private readonly idleMicros: number;
  declare private readonly listener: MemoryAdmissionListener;
  declare private readonly prewarmed: Prewarmed;

  constructor(
    activations: Activations,
    containers: Containers,
    timerList: TimerList,
    shape: ClusterShape,
    listener: MemoryAdmissionListener,
  ) {
    this.c = activations.columns;
    this.activations = activations;
    this.containers = containers;
    this.timerList = timerList;
    this.shape = shape;
    // The time counts from the pause on [OpenWhisk ContainerProxy.scala].
    this.idleMicros = (shape.pauseGraceMs + shape.idleMs) * 1000;
    this.listener = listener;
    this.prewarmed = new Prewarmed(shape);
    this.ahead = new Float64Array(shape.hosts);
  }

  /** Without any eviction. MiB. */
  hasMemory(host: number, memory: number): boolean {
    return this.containers.admitted[host]! + memory <= this.shape.userMemoryMiB;
  }

  /**
   * Takes memory for a container that is created next. Returns the kind of a prewarmed container,
   * {@link NEW_CONTAINER} or {@link NO_MEMORY}.
   */
  take(host: number, memory: number, now: number): number {
    const kind = this.prewarmed.of(host, memory);
    if (kind < 0) return this.#evictForMemory(host, memory, now) ? NEW_CONTAINER : NO_MEMORY;
    this.containers.admitted[host] = this.containers.admitted[host]! - memory;
    this.prewarmed.take(host, kind);
    return kind;
  }

  /**
   * Removes containers that were idle for too long. Nothing else happens at that time, so it is
   * done lazily.
   */
  expire(host: number, now: number): void {
    const containers = this.containers;
    for (;;) {
      const oldest = containers.oldestIdle(host);
      if (oldest < 0 || containers.columns.idleAt[oldest]! + this.idleMicros > now) return;
      this.evict(oldest, now);
    }
  }

  evict(container: number, now: number): void {
    this.containers.removeIdle(container);
    this.listener.remove(container, now);
  }

  /** The host failed: remove idle and prewarmed containers. */
  clear(host: number, now: number): void {
    const containers = this.containers;
    for (
      let oldest = containers.oldestIdle(host);
      oldest >= 0;
      oldest = containers.oldestIdle(host)
    )
      this.evict(oldest, now);
    containers.admitted[host] = containers.admitted[host]! - this.prewarmed.clear(host);
  }

  /** A host starts or returns: create its prewarmed containers. */
  prewarmHost(host: number, now: number): void {
    this.shape.prewarm.forEach(({ count }, kind) => {
      for (let i = 0; i < count; i++) this.startPrewarming(host, kind, now);
    });
  }

  /** Creates one more of a kind, without evicting an idle container for it. */
  startPrewarming(host: number, kind: number, now: number): void {
    const { memoryMiB, coldStartMs } = this.shape.prewarm[kind]!;
    if (!this.hasMemory(host, memoryMiB)) return;
    this.containers.admitted[host] = this.containers.admitted[host]! + memoryMiB;
    const a = this.activations.allocate();
    this.c.host[a] = host;
    this.c.container[a] = kind;
    this.c.work[a] = memoryMiB;
    this.timerList.startTimer(a, Phase.prewarming, now + Math.round(coldStartMs * 1000));
  }

  /** It is ready. An activation may have waited for it or for its memory. */
  prewarmReady(a: number, now: number): void {
    const host = this.c.host[a]!;
    this.prewarmed.add(host, this.c.container[a]!);
    this.activations.release(a);
    this.listener.freed(host, now);
  }

  /** Its host failed before it was ready. */
  cancelPrewarming(a: number): void {
    const host = this.c.host[a]!;
    this.timerList.remove(a);
    this.containers.admitted[host] = this.containers.admitted[host]! - this.c.work[a]!;
    this.activations.release(a);
  }

  /**
   * Evicts idle containers, the one whose last activation came first at first, until the whole need
   * is covered, also if a part of it was free. What is forced on a full host can exceed user-memory
   * this way. Prewarmed containers stay. [OpenWhisk ContainerPool.scala: receive, remove]
   *
   * False if what is created ahead is in the way: it is idle soon.
   */
  #evictForMemory(host: number, need: number, now: number): boolean {
    const containers = this.containers;
    if (this.hasMemory(host, need)) return true;
    const busy = containers.admitted[host]! - containers.idleMemory[host]!;
    if (this.ahead[host]! > 0 && busy + need > this.shape.userMemoryMiB) return false;
    let left = Math.min(need, containers.idleMemory[host]!);
    if (left <= 0) return false;
    while (left > 0) {
      const first = containers.leastRecentlyUsed(host);
      left -= containers.columns.memory[first]!;
      this.evict(first, now);
    }
    return true;
  }
}
