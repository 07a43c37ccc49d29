import { type Random, SeededRandom } from '../../config/index.js';
import { type Action, type CompletedActivation, resolveAction } from './action.js';
import { ActionContainer, type LogMode } from './action-container.js';
import type { ClientStyle } from './container-client.js';
import { ContainerPool } from './container-pool.js';
import { containerName, cpuLimit, cpuShares } from './container-resources.js';
import { DockerCli, type DockerCliOptions, type Pauser, runc } from './docker-cli.js';
import { InvalidActionError } from './errors.js';

export interface InvokerOptions {
  /** Image of every action container. */
  readonly image: string;
  /**
   * Start of every container's name, and what the start-up clean-up removes by (`wsk0` of invoker
   * 0). Each emulator needs its own prefix.
   */
  readonly prefix?: string;
  readonly userMemoryMb?: number;
  /**
   * Cores that all containers share by memory (whisk.container-pool.user-cpus, from 2.0.0 on);
   * null: no quota, as by default.
   */
  readonly userCpus?: number | null;
  readonly pauseGraceMs?: number;
  readonly idleMs?: number;
  readonly clientStyle?: ClientStyle;
  readonly retryNoResponse?: boolean;
  /** Pause by runc (OpenWhisk's default) or by docker (the standalone server's). */
  readonly useRunc?: boolean;
  readonly logs?: LogMode;
  readonly containersFolder?: string | null;
  readonly oomPolls?: number;
  readonly network?: string;
  readonly docker?: DockerCliOptions;
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
  readonly docker: DockerCli;
  readonly #pool: ContainerPool;
  readonly #random: Random;
  readonly #prefix: string;
  readonly #pauser: Pauser;
  readonly #userMemoryMb: number;
  #count = 0;

  constructor(options: InvokerOptions) {
    this.docker = new DockerCli(options.docker);
    this.#prefix = options.prefix ?? 'wskgl0';
    // Two emulators must not produce the same activation ids.
    this.#random = new SeededRandom(1).fork(this.#prefix);
    if (!/^wsk[\p{L}\p{Nd}_.-]*$/u.test(this.#prefix)) {
      throw new InvalidActionError(`prefix ${this.#prefix} does not begin with wsk`);
    }
    this.#pauser = (options.useRunc ?? true) ? runc : this.docker;
    const containerOptions = {
      docker: this.docker,
      pauser: this.#pauser,
      client: {
        style: options.clientStyle ?? 'apache',
        retryNoResponse: options.retryNoResponse ?? false,
      } as const,
      logs: options.logs ?? 'file',
      containersFolder:
        options.containersFolder === undefined
          ? '/var/lib/docker/containers'
          : options.containersFolder,
      oomPolls: options.oomPolls ?? 400,
    };
    const userMemoryMb = options.userMemoryMb ?? 1024;
    const userCpus = options.userCpus ?? null;
    this.#pool = new ContainerPool({
      userMemoryMb,
      times: { pauseGraceMs: options.pauseGraceMs ?? 10_000, idleMs: options.idleMs ?? 600_000 },
      create: async ({ namespace, name: action, memoryMb, cpus }) => {
        const name = containerName(this.#prefix, ++this.#count, namespace, action);
        const spec = {
          image: options.image,
          name,
          memoryMb,
          cpuShares: cpuShares(userMemoryMb, memoryMb),
          cpus: cpus ?? cpuLimit(userCpus, userMemoryMb, memoryMb),
          network: options.network ?? 'bridge',
          apiHost: 'http://172.17.0.1:3233',
        };
        return await ActionContainer.create(spec, containerOptions);
      },
    });
    this.#userMemoryMb = userMemoryMb;
  }

  /** Removes what an earlier invoker of this prefix left behind. */
  async start(): Promise<void> {
    await this.#cleanUp();
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
    await this.#cleanUp();
  }

  /**
   * DockerContainerFactory.removeAllActionContainers (1.0.0, 2.0.0, 1fae641a2): every container
   * whose name contains the prefix is unpaused, whether or not that works, and removed.
   */
  async #cleanUp(): Promise<void> {
    const ids = await this.docker.idsByName(`${this.#prefix}_`);
    await Promise.all(
      ids.map(async (id) => {
        await this.#pauser.unpause(id).catch(() => undefined);
        await this.docker.rm(id).catch(() => undefined);
      }),
    );
  }

  #hex(length: number): string {
    let text = '';
    for (let i = 0; i < length; i++) text += this.#random.below(16).toString(16);
    return text;
  }
}
