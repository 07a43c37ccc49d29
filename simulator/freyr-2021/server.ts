import type { Request } from './request.js';
import { RULES } from './rules.js';

/**
 * One server: running requests, a queue, and finished requests that represent their warm
 * containers. [Freyr-sim]
 */
export class Server {
  freeCpu: number = RULES.serverCpu;
  freeMemory: number = RULES.serverMemory;
  readonly #running: Request[] = [];
  #queue: Request[] = [];
  /** By time of finish, oldest first. */
  #cached: Request[] = [];
  #cachedCpu = 0;
  #cachedMemory = 0;

  get isIdle(): boolean {
    return this.inFlight === 0;
  }

  get inFlight(): number {
    return this.#running.length + this.#queue.length;
  }

  fits({ allocation }: Request): boolean {
    return allocation.cpu <= this.freeCpu && allocation.memory <= this.freeMemory;
  }

  /** The server has room; a request that finds a queue joins it nevertheless. */
  accept(request: Request): void {
    if (this.#queue.length > 0) this.#queue.push(request);
    else this.#start(request);
  }

  enqueue(request: Request): void {
    this.#queue.push(request);
  }

  /** One tick of all requests; the ended ones are passed to `ended`. */
  step(second: number, ended: (request: Request) => void): void {
    const finished: Request[] = [];
    let kept = 0;
    for (const request of this.#running) {
      if (request.tick()) {
        this.freeCpu += request.allocation.cpu;
        this.freeMemory += request.allocation.memory;
        request.finished = second;
        finished.push(request);
        ended(request);
      } else this.#running[kept++] = request;
    }
    this.#running.length = kept;
    if (this.#cached.length > 0) this.#drop((cached) => second - cached.finished > RULES.keepAlive);
    for (const request of finished) this.#cache(request);
    if (this.#queue.length > 0) this.#stepQueue(second, ended);
  }

  #stepQueue(second: number, ended: (request: Request) => void): void {
    const waiting = this.#queue.filter((request) => {
      if (!request.tickQueued()) return true;
      request.finished = second;
      ended(request);
      return false;
    });
    // Published as "longest waiting first", but waiting is never counted: the order of the queue.
    this.#queue = waiting.filter((request) => {
      if (!this.fits(request)) return true;
      this.#start(request);
      return false;
    });
  }

  #start(request: Request): void {
    const { allocation, fn } = request;
    // Strictly more of both: almost never true if all invocations of a function ask for the same.
    const warm = this.#cached.findIndex(
      (cached) =>
        cached.fn === fn &&
        cached.allocation.cpu > allocation.cpu &&
        cached.allocation.memory > allocation.memory,
    );
    if (warm >= 0) this.#uncache(warm);
    else {
      request.init = fn.coldStart;
      request.coldTicks = fn.coldStart;
      this.#evictForMemory(request);
    }
    this.freeCpu -= allocation.cpu;
    this.freeMemory -= allocation.memory;
    this.#running.push(request);
  }

  /** Evicts the most recently finished first. */
  #evictForMemory({ allocation }: Request): void {
    while (
      this.#cached.length > 0 &&
      (allocation.cpu + this.#cachedCpu > this.freeCpu ||
        allocation.memory + this.#cachedMemory > this.freeMemory)
    )
      this.#uncache(this.#cached.length - 1);
  }

  #cache(request: Request): void {
    this.#cached.push(request);
    this.#cachedCpu += request.allocation.cpu;
    this.#cachedMemory += request.allocation.memory;
  }

  #uncache(index: number): void {
    const [request] = this.#cached.splice(index, 1);
    this.#cachedCpu -= request!.allocation.cpu;
    this.#cachedMemory -= request!.allocation.memory;
  }

  #drop(gone: (request: Request) => boolean): void {
    for (let i = this.#cached.length - 1; i >= 0; i--) if (gone(this.#cached[i]!)) this.#uncache(i);
  }
}
