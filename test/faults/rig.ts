import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GleanerProcess } from '../../bench/benefit/gleaner-process.js';
import { type Broker, services } from '../../broker/index.js';
import { NatsBroker } from '../../broker/nats/index.js';
import { callService } from '../../broker/services/index.js';
import {
  type Action,
  type ActivationResult,
  actionSource,
  InvokerEmulator,
} from '../../simulator/invoker-emulator/index.js';
import { allowed } from '../support/slowness.js';
import { until, type WatchedContainer, watchContainers } from './cgroups.js';

/** Functions, and containers of each: 20 activations in flight. */
const FUNCTIONS = 4;
const EACH = 5;
const MEMORY_MB = 128;
const HOST = 'faults';
/**
 * Waits most of the time, so that durations say something on two cores; 12 ms of CPU in 0.9 s, of a
 * whole core.
 */
const PAYLOAD = { rounds: 4, sleepMs: 900, cpuMs: 12 };

export interface RigOptions {
  /** Letters; of containers, different for each test file. */
  readonly prefix: string;
  readonly image: string;
  readonly staleMillis: number;
  readonly functions?: number;
}

/** What `inspect` of the hook says, as far as it is looked at here. */
export interface HookInspection {
  readonly host: { readonly boot: string; readonly host: string };
  readonly functions: readonly {
    readonly name: string;
    readonly target: { readonly fresh: boolean } | null;
  }[];
  readonly containers: readonly { readonly id: string }[];
  readonly counters: Readonly<Record<string, number>>;
  readonly targets: {
    readonly accepted: number;
    readonly refused: Readonly<Record<string, number>>;
  };
}

/**
 * A whole Gleaner beside 20 warm containers with a quota. Each function has an invoker of its own
 * whose memory is full, so that a call waits for a container rather than starts one more.
 */
export class Rig {
  readonly gleaner: GleanerProcess;
  readonly #options: RigOptions;
  readonly #invokers: InvokerEmulator[];
  #broker: Broker | null = null;
  #stopped = false;
  containers: readonly WatchedContainer[] = [];

  constructor(options: RigOptions) {
    this.#options = options;
    this.gleaner = new GleanerProcess({
      mode: 'enforce',
      agents: { manager: 'greedy' },
      // On a calm machine a container's first call peaks at its whole core, which is asked for
      // again until it is half forgotten.
      decision: {
        controlShare: 0,
        peakHalfLifeS: 5,
        targetStaleMs: options.staleMillis,
        policy: { quota: 'target' },
      },
      hook: {
        containerPrefix: options.prefix,
        hostName: HOST,
        stepActivations: EACH,
        stepS: 1,
      },
    });
    this.#invokers = Array.from(
      { length: options.functions ?? FUNCTIONS },
      (_, i) =>
        new InvokerEmulator({
          image: options.image,
          prefix: `${options.prefix}${i}`,
          userMemoryMb: EACH * MEMORY_MB,
          pauseGraceMs: 600_000,
        }),
    );
  }

  get names(): string[] {
    return this.#invokers.map((_, i) => `/guest/${action(i).name}`);
  }

  async start(): Promise<void> {
    await Promise.all(this.#invokers.map((invoker) => invoker.start()));
    await this.gleaner.start(allowed(30_000));
    const { servers } = JSON.parse(
      readFileSync(join(this.gleaner.folder, 'state', 'up.json'), 'utf8'),
    );
    this.#broker = new NatsBroker({ servers, name: 'faults' });
    // All at once, and holding on to theirs: as many containers as calls.
    for (let i = 0; i < this.#invokers.length; i++) {
      const failed = (await Promise.all(this.#calls(i, { sleepMs: 2500 }))).find(({ ok }) => !ok);
      if (failed)
        throw new Error(
          `a container cannot be warmed up: ${failed.kind} ${JSON.stringify(failed.result)}`,
        );
    }
    this.containers = watchContainers(this.#options.prefix);
    const count = this.#invokers.length * EACH;
    if (this.containers.length !== count)
      throw new Error(`${this.containers.length} containers instead of ${count}`);
  }

  get broker(): Broker {
    if (this.#broker === null) throw new Error('not started');
    return this.#broker;
  }

  /** All containers' activations at once. */
  async batch(): Promise<ActivationResult[]> {
    return (await Promise.all(this.#invokers.flatMap((_, i) => this.#calls(i, PAYLOAD)))).flat();
  }

  /** How many quotas are below their user's now. */
  get lowered(): number {
    return this.containers.filter((container) => container.lowered).length;
  }

  /** Most quotas seen lowered at once while `work` goes on. */
  async lowestQuota<T>(work: Promise<T>): Promise<{ result: T; most: number }> {
    let over = false;
    let most = 0;
    const done = work.finally(() => {
      over = true;
    });
    while (!over && !this.#stopped) {
      most = Math.max(most, this.lowered);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return { result: await done, most };
  }

  /** Activations until the agents' targets lower the quotas; ms it took. */
  async untilLowered(most: number): Promise<number> {
    const begun = performance.now();
    for (;;) {
      const seen = await this.lowestQuota(this.batch());
      if (seen.most >= this.enough) return performance.now() - begun;
      if (performance.now() - begun > allowed(most)) {
        throw new Error(
          `limits are not lowered within ${most} ms (${seen.most} are):\n${this.gleaner.output}`,
        );
      }
    }
  }

  /**
   * Containers that must be lowered at once; one start in five may be late on a busy machine.
   */
  get enough(): number {
    return Math.floor(this.containers.length * 0.8);
  }

  /** Containers whose limits are not all what Docker's inspect says. */
  containersBelowUserLimits(): string[] {
    return this.containers
      .filter((container) => {
        const { quota, shares, memory } = container.limits();
        const { user } = container;
        return quota !== user.quota || shares !== user.shares || memory !== user.memory;
      })
      .map((container) => `${container.id.slice(0, 12)} ${JSON.stringify(container.limits())}`);
  }

  async setWrites(on: boolean): Promise<void> {
    await this.#ask('mode', { mode: on ? null : 'observe', author: 'faults' });
    if (!on) await until('user limits in mode observe', 2000, () => this.lowered === 0);
  }

  async inspect(): Promise<HookInspection> {
    return (await this.#ask('inspect')) as HookInspection;
  }

  /** The hook's answer; asked again while it is away. */
  async #ask(endpoint: string, request?: unknown): Promise<unknown> {
    const end = performance.now() + allowed(15_000);
    for (;;) {
      try {
        const call = { service: services.hook, endpoint, request, host: HOST };
        return await callService(this.broker, call);
      } catch {
        // NATS is on its way back.
      }
      if (performance.now() > end)
        throw new Error(`the hook does not answer:\n${this.gleaner.output}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Lines of a part's log, each a JSON object of pino's where it is one. */
  log(part: string): Record<string, unknown>[] {
    const text = readFileSync(join(this.gleaner.folder, 'state', 'logs', `${part}.log`), 'utf8');
    return text.split('\n').flatMap((line) => {
      try {
        return [JSON.parse(line) as Record<string, unknown>];
      } catch {
        return [];
      }
    });
  }

  async stop(): Promise<void> {
    // If an assertion fails midway, a loop that still reads the containers must not read files that
    // are closed here.
    this.#stopped = true;
    for (const container of this.containers) container.close();
    await this.#broker?.close();
    await this.gleaner.stop();
    await Promise.all(this.#invokers.map((invoker) => invoker.stop()));
  }

  #calls(index: number, payload: object): Promise<ActivationResult>[] {
    const invoker = this.#invokers[index]!;
    return Array.from({ length: EACH }, () => invoker.invoke(action(index), payload));
  }
}

const action = (index: number): Action => ({
  namespace: 'guest',
  name: `fault${index}`,
  version: '0.0.1',
  ...actionSource('mixed'),
  memoryMb: MEMORY_MB,
  cpus: 1,
});
