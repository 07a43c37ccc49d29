import type { ResolvedAction } from './action.js';
import type { Container } from './action-container.js';
import type { ActivationMessage } from './activation-message.js';
import { response } from './activation-response.js';
import { ContainerProxy, type ProxyListener, type ProxyTimes } from './container-proxy.js';

export interface PrewarmSpec {
  readonly kind: string;
  readonly memoryMb: number;
  readonly count: number;
}

export interface PoolOptions {
  /**
   * Memory that all containers share, MB (whisk.container-pool.user-memory; 1024 m by default, 2048
   * m in the standalone server).
   */
  readonly userMemoryMb: number;
  readonly prewarm: readonly PrewarmSpec[];
  readonly times: ProxyTimes;
  /** Starts a container: for an action, or prewarmed for a kind and memory. */
  readonly create: (
    kind: string,
    memoryMb: number,
    action: ResolvedAction | null,
  ) => Promise<Container>;
  readonly onLogs?: (activationId: string, lines: readonly string[]) => void;
}

const PREWARM_RETRIES = 5;

/**
 * Which container gets a job: warm, else warming, else prewarmed, else a new one, else a new one
 * for the least recently used idle ones; else it waits, and everything after it. Source:
 * ContainerPool.scala @ 1.0.0, 2.0.0, 1fae641a2 (`receive`, `schedule`, `remove`,
 * `takePrewarmContainer`).
 */
export class ContainerPool implements ProxyListener {
  readonly #options: PoolOptions;
  /** In order of creation; those that leave are not in it. */
  readonly #proxies: ContainerProxy[] = [];
  readonly #lastUsed = new Map<ContainerProxy, number>();
  readonly #removals = new Set<Promise<void>>();
  #uses = 0;
  /** In a row; five end the trying (prewarm-max-retry-limit). */
  #prewarmFailures = 0;
  #buffer: ActivationMessage[] = [];
  #stopping = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Resolves when the prewarmed containers run. */
  async start(): Promise<void> {
    await this.#backfill();
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
      memoryMb: proxy.memoryMb,
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
    if (proxy.action === null) this.#prewarmFailures++;
    queueMicrotask(() => {
      if (this.#stopping) return;
      this.#process();
      if (this.#prewarmFailures < PREWARM_RETRIES) void this.#backfill();
    });
  }

  reschedule(activationMessage: ActivationMessage): void {
    // At the head: it was first (the actor's mailbox gives it back before what the feed brings).
    if (this.#stopping) this.#refuse(activationMessage);
    else if (!this.#place(activationMessage)) this.#buffer.unshift(activationMessage);
  }

  logsCollected(activationMessage: ActivationMessage, lines: readonly string[]): void {
    this.#options.onLogs?.(activationMessage.activationId, lines);
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
      this.#prewarmed(activationMessage.action) ??
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
      proxy.action?.key === action.key && proxy.load < action.concurrency;
    return (
      this.#proxies.find((proxy) => proxy.initialized && fits(proxy)) ?? this.#proxies.find(fits)
    );
  }

  #prewarmed(action: ResolvedAction): ContainerProxy | undefined {
    // A prewarmed container has the quota of its size; a function with its own cannot use it.
    if (action.cpus !== null) return undefined;
    const proxy = this.#proxies.find(
      (candidate) =>
        candidate.state === 'started' &&
        candidate.action === null &&
        candidate.kind === action.kind &&
        candidate.memoryMb === action.memoryMb,
    );
    // The replacement is counted after the job has its container.
    if (proxy) queueMicrotask(() => void this.#backfill());
    return proxy;
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
    if (idle.reduce((sum, proxy) => sum + proxy.memoryMb, 0) < needed) return undefined;
    const leaving: ContainerProxy[] = [];
    for (const proxy of idle) {
      if (needed <= 0) break;
      leaving.push(proxy);
      needed -= proxy.memoryMb;
    }
    if (leaving.length === 0) return undefined;
    const created = this.#prewarmed(action) ?? this.#create(action);
    for (const proxy of leaving) this.#remove(proxy);
    return created;
  }

  #create(action: ResolvedAction): ContainerProxy {
    const proxy = new ContainerProxy(
      action.kind,
      action.memoryMb,
      () => this.#options.create(action.kind, action.memoryMb, action),
      this,
      this.#options.times,
    );
    // Known before it runs, so that a job of the same action can join it.
    proxy.action = action;
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
    return this.#proxies.reduce((sum, proxy) => sum + proxy.memoryMb, 0);
  }

  async #backfill(): Promise<void> {
    if (this.#stopping) return;
    const started: Promise<void>[] = [];
    for (const spec of this.#options.prewarm) {
      const have = this.#proxies.filter(
        (proxy) =>
          proxy.action === null && proxy.kind === spec.kind && proxy.memoryMb === spec.memoryMb,
      ).length;
      for (let missing = spec.count - have; missing > 0; missing--) {
        if (this.#used() + spec.memoryMb > this.#options.userMemoryMb) break;
        const create = (): Promise<Container> =>
          this.#options.create(spec.kind, spec.memoryMb, null);
        const proxy = new ContainerProxy(
          spec.kind,
          spec.memoryMb,
          create,
          this,
          this.#options.times,
        );
        this.#proxies.push(proxy);
        started.push(
          proxy.prewarm().then((running) => {
            this.#prewarmFailures = running ? 0 : this.#prewarmFailures;
          }),
        );
      }
    }
    await Promise.all(started);
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
