import { growColumns } from './activations.js';

export const ContainerStatus = { free: 0, starting: 1, ready: 2, retired: 3 } as const;

const FIRST = 1024;
const doubles = (): Float64Array => new Float64Array(FIRST);
const integers = (): Int32Array => new Int32Array(FIRST);

class ContainerColumns {
  /** Nominal memory, MiB: the basis of admission. */
  memory = doubles();
  /** Hard limit, and working set while idle, bytes. */
  limit = doubles();
  resident = doubles();
  /** cgroup-v1 weight and quota, core-us a period (0 = none). */
  weight = doubles();
  quota = doubles();
  /** Start of its CFS periods; core-us used in the period that ends at `periodEnd`. */
  epoch = doubles();
  used = doubles();
  periodEnd = doubles();
  /** CPU time of ended activations, us. */
  cpu = doubles();
  /** When its last activation came, and when it became idle. */
  usedAt = doubles();
  idleAt = doubles();
  fn = integers();
  host = integers();
  active = integers();
  /** Its activations, the newest first. */
  first = integers();
  /** Neighbors in its host's lists of idle containers: by the time idle, and by last use. */
  older = integers();
  newer = integers();
  usedBefore = integers();
  usedAfter = integers();
  /** Neighbors in the list of warm containers of its function and host. */
  warmPrevious = integers();
  warmNext = integers();
  status = new Uint8Array(FIRST);
  warm = new Uint8Array(FIRST);
}

/**
 * Containers of all hosts as columns: nominal memory admitted, the warm containers of a function on
 * a host (most recently used first) and the idle ones of a host by age and by last use. Every
 * operation takes constant time, except that a container which becomes idle passes those that were
 * used after it.
 */
export class Containers {
  readonly columns = new ContainerColumns();
  #capacity = FIRST;
  #free = -1;
  #high = 0;
  count = 0;
  /** By host: nominal memory of all and of the idle containers, MiB. */
  declare readonly admitted: Float64Array;
  declare readonly idleMemory: Float64Array;
  declare private readonly oldest: Int32Array;
  declare private readonly newest: Int32Array;
  declare private readonly firstUsed: Int32Array;
  declare private readonly lastUsed: Int32Array;
  /**
   * By function and host two entries, the first warm container and the count; after the hosts the
   * count on all of them.
   */
  declare private readonly places: Int32Array;
  declare private readonly width: number;

  constructor(functions: number, hosts: number) {
    this.width = 2 * (hosts + 1);
    this.admitted = new Float64Array(hosts);
    this.idleMemory = new Float64Array(hosts);
    this.oldest = new Int32Array(hosts).fill(-1);
    this.newest = new Int32Array(hosts).fill(-1);
    this.firstUsed = new Int32Array(hosts).fill(-1);
    this.lastUsed = new Int32Array(hosts).fill(-1);
    this.places = new Int32Array(functions * this.width);
    for (let i = 0; i < this.places.length; i += 2) this.places[i] = -1;
  }

  get high(): number {
    return this.#high;
  }

  /** A container that can run one more activation; -1 if there is none. */
  warm(fn: number, host: number): number {
    return this.places[fn * this.width + 2 * host]!;
  }

  /** Containers of a function on a host. */
  countOf(fn: number, host: number): number {
    return this.places[fn * this.width + 2 * host + 1]!;
  }

  /** On all hosts. */
  total(fn: number): number {
    return this.places[(fn + 1) * this.width - 1]!;
  }

  allocate(fn: number, host: number, memory: number): number {
    this.count++;
    let container = this.#free;
    const c = this.columns;
    if (container >= 0) this.#free = c.newer[container]!;
    else {
      if (this.#high === this.#capacity) {
        this.#capacity *= 2;
        growColumns(c, this.#capacity);
      }
      container = this.#high++;
    }
    c.fn[container] = fn;
    c.host[container] = host;
    c.memory[container] = memory;
    c.active[container] = 0;
    c.first[container] = -1;
    c.cpu[container] = 0;
    c.used[container] = 0;
    c.periodEnd[container] = 0;
    c.status[container] = ContainerStatus.starting;
    c.warm[container] = 0;
    this.admitted[host] = this.admitted[host]! + memory;
    this.#add(fn, host, 1);
    return container;
  }

  /** It must be neither warm nor idle. */
  release(container: number): void {
    const c = this.columns;
    const host = c.host[container]!;
    this.count--;
    this.admitted[host] = this.admitted[host]! - c.memory[container]!;
    this.#add(c.fn[container]!, host, -1);
    c.status[container] = ContainerStatus.free;
    c.newer[container] = this.#free;
    this.#free = container;
  }

  addWarm(container: number): void {
    const c = this.columns;
    if (c.warm[container] === 1) return;
    const key = c.fn[container]! * this.width + 2 * c.host[container]!;
    const head = this.places[key]!;
    c.warm[container] = 1;
    c.warmPrevious[container] = -1;
    c.warmNext[container] = head;
    if (head >= 0) c.warmPrevious[head] = container;
    this.places[key] = container;
  }

  removeWarm(container: number): void {
    const c = this.columns;
    if (c.warm[container] === 0) return;
    c.warm[container] = 0;
    const previous = c.warmPrevious[container]!;
    const next = c.warmNext[container]!;
    if (previous >= 0) c.warmNext[previous] = next;
    else this.places[c.fn[container]! * this.width + 2 * c.host[container]!] = next;
    if (next >= 0) c.warmPrevious[next] = previous;
  }

  /** It runs nothing from now on. */
  addIdle(container: number, now: number): void {
    const c = this.columns;
    const host = c.host[container]!;
    const newest = this.newest[host]!;
    c.idleAt[container] = now;
    c.older[container] = newest;
    c.newer[container] = -1;
    if (newest >= 0) c.newer[newest] = container;
    else this.oldest[host] = container;
    this.newest[host] = container;
    this.#insertByUse(container, host);
    this.idleMemory[host] = this.idleMemory[host]! + c.memory[container]!;
  }

  removeIdle(container: number): void {
    const c = this.columns;
    const host = c.host[container]!;
    const older = c.older[container]!;
    const newer = c.newer[container]!;
    if (older >= 0) c.newer[older] = newer;
    else this.oldest[host] = newer;
    if (newer >= 0) c.older[newer] = older;
    else this.newest[host] = older;
    const before = c.usedBefore[container]!;
    const after = c.usedAfter[container]!;
    if (before >= 0) c.usedAfter[before] = after;
    else this.firstUsed[host] = after;
    if (after >= 0) c.usedBefore[after] = before;
    else this.lastUsed[host] = before;
    this.idleMemory[host] = this.idleMemory[host]! - c.memory[container]!;
  }

  /** The container that has been idle longest; -1 if there is none. */
  oldestIdle(host: number): number {
    return this.oldest[host]!;
  }

  /** The idle container whose last activation came first; -1 if there is none. */
  leastRecentlyUsed(host: number): number {
    return this.firstUsed[host]!;
  }

  #insertByUse(container: number, host: number): void {
    const c = this.columns;
    let before = this.lastUsed[host]!;
    while (before >= 0 && c.usedAt[before]! > c.usedAt[container]!) before = c.usedBefore[before]!;
    const after = before >= 0 ? c.usedAfter[before]! : this.firstUsed[host]!;
    c.usedBefore[container] = before;
    c.usedAfter[container] = after;
    if (before >= 0) c.usedAfter[before] = container;
    else this.firstUsed[host] = container;
    if (after >= 0) c.usedBefore[after] = container;
    else this.lastUsed[host] = container;
  }

  #add(fn: number, host: number, change: number): void {
    const row = fn * this.width;
    const here = row + 2 * host + 1;
    const all = row + this.width - 1;
    this.places[here] = this.places[here]! + change;
    this.places[all] = this.places[all]! + change;
  }
}
