import { type Random, SeededRandom } from '../../config/index.js';
import { IDLE_LIFE } from '../../rules/index.js';
import { type Action, type CompletedActivation, resolveAction } from './action.js';
import {
  type ContainerFactory,
  DEFAULT_PREFIX,
  DEFAULT_USER_MEMORY_MB,
  DockerContainerFactory,
  type DockerFactoryOptions,
} from './container-factory.js';
import { ContainerPool } from './container-pool.js';
import { InvalidActionError } from './errors.js';

export interface InvokerOptions extends DockerFactoryOptions {
  readonly pauseGraceMs?: number;
  readonly idleMs?: number;
}

export interface ActivationResult extends CompletedActivation {
  readonly activationId: string;
  readonly ok: boolean;
}

/**
 * Drives action containers as an OpenWhisk invoker does: same commands, same HTTP, same pool. It
 * knows nothing of Gleaner. Defaults are those of OpenWhisk's application.conf @ 2.0.0 and
 * 1fae641a2, the engine's own folder readable.
 */
export class InvokerEmulator {
  readonly #factory: ContainerFactory;
  readonly #pool: ContainerPool;
  readonly #random: Random;
  readonly #userMemoryMb: number;

  constructor(
    options: InvokerOptions,
    factory: ContainerFactory = new DockerContainerFactory(options),
  ) {
    // Two emulators must not produce the same activation ids.
    this.#random = new SeededRandom(1).fork(options.prefix ?? DEFAULT_PREFIX);
    this.#factory = factory;
    this.#userMemoryMb = options.userMemoryMb ?? DEFAULT_USER_MEMORY_MB;
    this.#pool = new ContainerPool({
      userMemoryMb: this.#userMemoryMb,
      times: { pauseGraceMs: options.pauseGraceMs ?? 10_000, idleMs: options.idleMs ?? IDLE_LIFE },
      create: (action) => factory.create(action),
    });
  }

  /** Removes what an earlier invoker of this prefix left behind. */
  async start(): Promise<void> {
    await this.#factory.removeAll();
  }

  /**
   * Resolves when the answer is there (the active ack); the container stays busy until its logs are
   * collected.
   */
  async invoke(action: Action, payload: unknown = {}): Promise<ActivationResult> {
    const resolved = resolveAction(action);
    if (resolved.memoryMb > this.#userMemoryMb) {
      throw new InvalidActionError(
        `/${action.namespace}/${action.name} needs more than the invoker's ` +
          `${this.#userMemoryMb} MB`,
      );
    }
    const activationId = this.#hex(32);
    return await new Promise((resolve) => {
      this.#pool.submit({
        action: resolved,
        payload,
        activationId,
        transactionId: this.#hex(32),
        acceptedMs: performance.now(),
        finish: (result) => resolve({ activationId, ok: result.kind === 'success', ...result }),
      });
    });
  }

  get containers(): ContainerPool['containers'] {
    return this.#pool.containers;
  }

  /** Removes every container of this prefix. */
  async stop(): Promise<void> {
    await this.#pool.stop();
    await this.#factory.removeAll();
  }

  #hex(length: number): string {
    let text = '';
    for (let i = 0; i < length; i++) text += this.#random.below(16).toString(16);
    return text;
  }
}
