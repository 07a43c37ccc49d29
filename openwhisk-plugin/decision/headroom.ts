import type { Bytes } from '../../config/index.js';
import { intersectUserMemory, type UserMemoryRange, userMemoryRange } from '../../rules/index.js';
import { sharesFollowMemory, type UserLimits } from './limits.js';

/**
 * Physical memory that can be lent without risk for lenders: host memory - the invokers' user-
 * memory - memory in use beyond their containers - reserve - loans. If anything is unknown, it is
 * zero. Bytes.
 */
export class MemoryHeadroom {
  readonly #host: number;
  /** Kept back, bytes. */
  reserve: number;
  /** Sum of the invokers' user-memory from the configuration; 0 = learned. */
  readonly #configured: number;
  /** User-memory, as the shares of the invoker's containers show it. */
  readonly #invokers = new Map<string, UserMemoryRange>();
  #beyond = Number.NaN;
  #lent = 0;

  constructor(host: Bytes, reserve: Bytes, configuredUserMemory: Bytes) {
    this.#host = host;
    this.reserve = reserve;
    this.#configured = configuredUserMemory;
  }

  /** A container of `invoker` (any stable name of it) was seen. All must agree. */
  seen(invoker: string, user: UserLimits): void {
    const range = sharesFollowMemory(user) ? userMemoryRange(user.memory, user.shares) : null;
    if (range === null) return;
    const known = this.#invokers.get(invoker);
    this.#invokers.set(invoker, known === undefined ? range : intersectUserMemory(known, range));
  }

  /** An invoker is gone from this host. */
  forget(invoker: string): void {
    this.#invokers.delete(invoker);
  }

  /** Memory in use on the host, less what the kernel can drop, and the containers' part of it. */
  update(hostInUse: Bytes, containersInUse: Bytes): void {
    this.#beyond = Math.max(0, hostInUse - containersInUse);
  }

  /** Sum over the invokers, at the upper end; NaN = unknown or contradictory. */
  get userMemory(): number {
    let low = 0;
    let high = 0;
    for (const invoker of this.#invokers.values()) {
      if (invoker.low >= invoker.high) return Number.NaN;
      low += invoker.low;
      high += invoker.high;
    }
    if (this.#configured > 0) return this.#configured >= low ? this.#configured : Number.NaN;
    return this.#invokers.size > 0 ? high : Number.NaN;
  }

  get lent(): Bytes {
    return this.#lent as Bytes;
  }

  get free(): Bytes {
    const free = this.#host - this.userMemory - this.#beyond - this.reserve - this.#lent;
    return (free > 0 ? Math.floor(free) : 0) as Bytes;
  }

  /** Lends up to `demand`, and nothing if less than `least` is free. */
  lend(demand: Bytes, least: Bytes): Bytes {
    const amount = Math.min(demand, this.free);
    if (!(amount > 0) || amount < Math.min(least, demand)) return 0 as Bytes;
    this.#lent += amount;
    return amount as Bytes;
  }

  /** Lent before this process began. */
  take(amount: Bytes): void {
    this.#lent += amount;
  }

  release(amount: Bytes): void {
    this.#lent = Math.max(0, this.#lent - amount);
  }
}
