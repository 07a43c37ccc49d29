import type { Accounts } from './accounts.js';
import { type ActivationColumns, type Activations, Phase as PHASE } from './activations.js';
import type { Balancer } from './balancer.js';
import type { Containers } from './containers.js';
import { Fn as FN, type FunctionRows } from './function-rows.js';
import type { InvokerListener, Invokers } from './invokers.js';
import { ClusterOutcome as OUTCOME, StartKind as START_KIND } from './recorder.js';
import { Waiting } from './waiting.js';

const ClusterOutcome = OUTCOME;
const Fn = FN;
const Phase = PHASE;
const StartKind = START_KIND;

const NO_CAP = 0x7fffffff;

/**
 * From an arrival to a host: the balancer's choice, then first in, first out if the host has no
 * memory (an activation that cannot be placed blocks all later ones, as in OpenWhisk's run buffer),
 * and caps on containers.
 */
export class Dispatch implements InvokerListener {
  declare invokers: Invokers;
  declare private readonly c: ActivationColumns;
  declare private readonly activations: Activations;
  declare private readonly balancer: Balancer;
  declare private readonly containers: Containers;
  declare private readonly functions: FunctionRows;
  declare private readonly accounts: Accounts;
  /** By host. */
  declare private readonly buffer: Waiting;
  /** By function: waiting because all containers that it may have are busy. */
  declare private readonly held: Waiting;
  declare private readonly most: Int32Array;
  /** Max containers by function and host; null: no such cap. */
  #mostOnHost: Int32Array | null = null;
  /** A held activation may fit now: `retry` it at this instant. */
  readonly #retry: (fn: number, now: number) => void;

  constructor(
    activations: Activations,
    balancer: Balancer,
    containers: Containers,
    functions: FunctionRows,
    accounts: Accounts,
    retry: (fn: number, now: number) => void,
  ) {
    this.c = activations.columns;
    this.activations = activations;
    this.balancer = balancer;
    this.containers = containers;
    this.functions = functions;
    this.accounts = accounts;
    this.buffer = new Waiting(this.c, balancer.hosts);
    this.held = new Waiting(this.c, functions.count);
    this.most = Int32Array.from(functions.specs, (spec) => spec.maxContainers ?? NO_CAP);
    this.#retry = retry;
  }

  get waiting(): number {
    return this.buffer.count + this.held.count;
  }

  /** Sends a new activation to a host and returns it; -1: none. */
  arrive(a: number, now: number): number {
    const c = this.c;
    const fn = c.fn[a]!;
    c.start[a] = StartKind.none;
    c.runAt[a] = Number.NaN;
    c.phase[a] = Phase.queued;
    const memory = this.functions.get(fn, Fn.memory);
    c.memory[a] = memory;
    if (this.functions.get(fn, Fn.capped) === 1 && this.containers.total(fn) > 0) {
      const host = this.#hostForCapped(fn, memory);
      if (host < 0) {
        this.held.push(fn, a);
        return -1;
      }
      this.balancer.take(host, memory);
      this.#send(a, host, now);
      return host;
    }
    let host = this.balancer.acquire(fn, memory);
    if (host < 0) host = this.balancer.force(c.activation[a]!, memory);
    if (host < 0) {
      c.host[a] = -1;
      this.accounts.end(a, ClusterOutcome.rejected, now);
      this.activations.release(a);
      return -1;
    }
    this.#send(a, host, now);
    return host;
  }

  /** Tries the first held activation of a function again. */
  retry(fn: number, now: number): number {
    const a = this.held.shift(fn);
    if (a < 0) return -1;
    const host = this.arrive(a, now);
    if (host >= 0 && this.held.first(fn) >= 0) this.#retry(fn, now);
    return host;
  }

  /** Max containers of a function on one host, set by a manager. */
  cap(fn: number, host: number, most: number, now: number): void {
    const hosts = this.balancer.hosts;
    this.#mostOnHost ??= new Int32Array(this.functions.count * hosts).fill(NO_CAP);
    const before = this.#mostOnHost[fn * hosts + host]!;
    this.#mostOnHost[fn * hosts + host] = most;
    this.functions.set(fn, Fn.capped, 1);
    if (most > before) this.#retry(fn, now);
  }

  /**
   * Max containers of a function on all hosts, set by a manager; the user's own cap still holds.
   */
  capAll(fn: number, most: number, now: number): void {
    const own = this.functions.specs[fn]!.maxContainers ?? NO_CAP;
    const before = this.most[fn]!;
    this.most[fn] = Math.max(1, Math.min(own, most));
    this.functions.set(fn, Fn.capped, 1);
    if (this.most[fn]! > before) this.#retry(fn, now);
  }

  ended(a: number, outcome: number, now: number): void {
    this.balancer.release(this.c.host[a]!, this.c.memory[a]!);
    this.accounts.end(a, outcome, now);
  }

  freed(host: number, fn: number, container: number, now: number): void {
    if (this.balancer.alive[host] === 0) return;
    const held = fn < 0 ? -1 : this.held.shift(fn);
    if (held >= 0) {
      this.c.host[held] = host;
      this.balancer.take(host, this.c.memory[held]!);
      this.invokers.use(container, held, now);
      return;
    }
    this.serve(host, now);
  }

  removed(fn: number, now: number): void {
    if (this.held.first(fn) >= 0) this.#retry(fn, now);
  }

  /** Places the activations that wait on a host, in order, while there is memory. */
  serve(host: number, now: number): void {
    const buffer = this.buffer;
    for (let a = buffer.first(host); a >= 0; a = buffer.first(host)) {
      const fn = this.c.fn[a]!;
      const mayCreate = this.#mayCreate(fn, host);
      if (this.invokers.place(a, host, now, mayCreate)) buffer.shift(host);
      else if (mayCreate) return;
      else {
        // It waits for a cap and not for memory, so it must not block the others.
        buffer.shift(host);
        this.balancer.release(host, this.c.memory[a]!);
        this.held.push(fn, a);
      }
    }
  }

  /** No event is left that could place the waiting activations: reject them. */
  giveUp(now: number): void {
    for (let host = 0; host < this.balancer.hosts; host++)
      for (let a = this.buffer.shift(host); a >= 0; a = this.buffer.shift(host)) {
        this.ended(a, ClusterOutcome.rejected, now);
        this.activations.release(a);
      }
    for (let fn = 0; fn < this.functions.count; fn++)
      for (let a = this.held.shift(fn); a >= 0; a = this.held.shift(fn)) {
        this.accounts.end(a, ClusterOutcome.rejected, now);
        this.activations.release(a);
      }
  }

  /** Activations that wait on a host that never returns are lost. */
  lose(host: number, now: number): void {
    for (let a = this.buffer.shift(host); a >= 0; a = this.buffer.shift(host)) {
      this.ended(a, ClusterOutcome.lost, now);
      this.activations.release(a);
    }
  }

  #send(a: number, host: number, now: number): void {
    this.c.host[a] = host;
    const mayCreate =
      this.functions.get(this.c.fn[a]!, Fn.capped) === 0 || this.#mayCreate(this.c.fn[a]!, host);
    if (this.buffer.first(host) >= 0 || !this.invokers.place(a, host, now, mayCreate))
      this.buffer.push(host, a);
  }

  #mayCreate(fn: number, host: number): boolean {
    if (this.functions.get(fn, Fn.capped) === 0) return true;
    if (this.containers.total(fn) >= this.most[fn]!) return false;
    const most = this.#mostOnHost;
    return (
      most === null || this.containers.countOf(fn, host) < most[fn * this.balancer.hosts + host]!
    );
  }

  /**
   * In the balancer's order, a host with a warm container, otherwise one where another may be
   * created; -1: wait.
   */
  #hostForCapped(fn: number, memory: number): number {
    const balancer = this.balancer;
    let found = -1;
    let host = this.functions.get(fn, Fn.home);
    for (let asked = 0; asked < balancer.hosts; asked++) {
      if (balancer.fits(host, memory)) {
        if (this.containers.warm(fn, host) >= 0) return host;
        if (found < 0 && this.#mayCreate(fn, host)) found = host;
      }
      host = (host + this.functions.get(fn, Fn.step)) % balancer.hosts;
    }
    return found;
  }
}
