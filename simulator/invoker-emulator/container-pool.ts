import type { ActivationMessage, ResolvedAction } from './action.js';
import type { Container } from './action-container.js';
import { response } from './activation-response.js';
import { ContainerProxy, type ProxyListener, type ProxyTimes } from './container-proxy.js';

export interface PoolOptions {
  /**
   * Memory that all containers share, MB (whisk.container-pool.user-memory; 1024 m by default, 2048
   * m in the standalone server).
   */
  readonly userMemoryMb: number;
  readonly times: ProxyTimes;
  readonly create: (action: ResolvedAction) => Promise<Container>;
}

/**
 * Which container gets an activation: warm, else warming, else a new one, else a new one for the
 * least recently used idle ones; else it waits, and everything after it. Nothing is prewarmed.
 * Source: ContainerPool.scala @ 1.0.0, 2.0.0, 1fae641a2 (`receive`, `schedule`, `remove`).
 */
export class ContainerPool implements ProxyListener {
  readonly #options: PoolOptions;
  /** In order of creation; those that leave are not in it. */
  readonly #proxies: ContainerProxy[] = [];
  readonly #lastUsed = new Map<ContainerProxy, number>();
  readonly #removals = new Set<Promise<void>>();
  #uses = 0;
  #buffer: ActivationMessage[] = [];
  #stopping = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  submit(activationMessage: ActivationMessage): void {
    if (this.#stopping) this.#refuse(activationMessage);
    else if (this.#buffer.length > 0 || !this.#place(activationMessage))
      this.#buffer.push(activationMessage);
  }

  /** Containers that count, for tests and tables. */
  get containers(): readonly {
    name: string | null;
    state: string;
    load: number;
    memoryMb: number;
  }[] {
    return this.#proxies.map((proxy) => ({
      name: proxy.container?.name ?? null,
      state: proxy.state,
      load: proxy.load,
      memoryMb: proxy.action.memoryMb,
    }));
  }

  /** Refuses what waits and removes every container, running or not. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const activationMessage of this.#buffer.splice(0)) this.#refuse(activationMessage);
    for (const proxy of [...this.#proxies]) this.#remove(proxy);
    await Promise.allSettled([...this.#removals]);
  }

  needWork(_proxy: ContainerProxy): void {
    this.#process();
  }

  /**
   * What waits is looked at in a turn of its own, as the actor's mailbox has it: in the midst of
   * making room it would be placed in one that is about to go, or in the room made.
   */
  containerLeaving(proxy: ContainerProxy): void {
    this.#forget(proxy);
    if (this.#stopping) return;
    queueMicrotask(() => {
      if (!this.#stopping) this.#process();
    });
  }

  reschedule(activationMessage: ActivationMessage): void {
    // At the head: it was first (the actor's mailbox gives it back before what the feed brings).
    if (this.#stopping) this.#refuse(activationMessage);
    else if (!this.#place(activationMessage)) this.#buffer.unshift(activationMessage);
  }

  #process(): void {
    for (let head = this.#buffer[0]; head; head = this.#buffer[0]) {
      this.#buffer.shift();
      if (this.#place(head)) continue;
      this.#buffer.unshift(head);
      return;
    }
  }

  #place(activationMessage: ActivationMessage): boolean {
    const proxy =
      this.#warm(activationMessage.action) ??
      this.#cold(activationMessage.action) ??
      this.#evict(activationMessage.action);
    if (!proxy) return false;
    this.#lastUsed.set(proxy, ++this.#uses);
    proxy.run(activationMessage);
    return true;
  }

  /**
   * Initialized ones come before those that still warm up, which only a concurrency above 1 can
   * use.
   */
  #warm(action: ResolvedAction): ContainerProxy | undefined {
    const fits = (proxy: ContainerProxy): boolean =>
      proxy.action.key === action.key && proxy.load < action.concurrency;
    return (
      this.#proxies.find((proxy) => proxy.initialized && fits(proxy)) ?? this.#proxies.find(fits)
    );
  }

  #cold(action: ResolvedAction): ContainerProxy | undefined {
    return this.#used() + action.memoryMb <= this.#options.userMemoryMb
      ? this.#create(action)
      : undefined;
  }

  /**
   * Removes idle containers, the least recently used first, until the action's whole memory is
   * covered (ContainerPool.remove).
   */
  #evict(action: ResolvedAction): ContainerProxy | undefined {
    const idle = this.#proxies
      .filter((proxy) => proxy.initialized && proxy.load === 0)
      .sort((a, b) => (this.#lastUsed.get(a) ?? 0) - (this.#lastUsed.get(b) ?? 0));
    let needed = Math.min(action.memoryMb, this.#used());
    if (idle.reduce((sum, proxy) => sum + proxy.action.memoryMb, 0) < needed) return undefined;
    const leaving: ContainerProxy[] = [];
    for (const proxy of idle) {
      if (needed <= 0) break;
      leaving.push(proxy);
      needed -= proxy.action.memoryMb;
    }
    if (leaving.length === 0) return undefined;
    const created = this.#create(action);
    for (const proxy of leaving) this.#remove(proxy);
    return created;
  }

  #create(action: ResolvedAction): ContainerProxy {
    const proxy = new ContainerProxy(
      action,
      () => this.#options.create(action),
      this,
      this.#options.times,
    );
    this.#proxies.push(proxy);
    return proxy;
  }

  #remove(proxy: ContainerProxy): void {
    // Out of the pool at once, even where a pause under way has to end first
    // (ContainerPool.removeContainer).
    this.#forget(proxy);
    const removal = proxy.remove();
    this.#removals.add(removal);
    void removal.finally(() => this.#removals.delete(removal));
  }

  #forget(proxy: ContainerProxy): void {
    const index = this.#proxies.indexOf(proxy);
    if (index >= 0) this.#proxies.splice(index, 1);
    this.#lastUsed.delete(proxy);
  }

  #used(): number {
    return this.#proxies.reduce((sum, proxy) => sum + proxy.action.memoryMb, 0);
  }

  #refuse(activationMessage: ActivationMessage): void {
    activationMessage.finish({
      ...response('whisk error', 'the invoker has stopped'),
      waitMs: performance.now() - activationMessage.acceptedMs,
      initMs: 0,
      runMs: 0,
      containerName: null,
      cold: false,
      coldStartMs: null,
    });
  }
}
