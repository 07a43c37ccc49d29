import { sharesOf } from '../../rules/index.js';
import type { ResolvedAction } from './action.js';
import {
  ActionContainer,
  type Container,
  type ContainerOptions,
  type LogMode,
} from './action-container.js';
import type { ClientStyle } from './container-client.js';
import { containerName, cpuLimit } from './container-resources.js';
import { DockerCli, type DockerCliOptions, type Pauser, runc } from './docker-cli.js';
import { InvalidActionError } from './errors.js';

export const DEFAULT_PREFIX = 'wskgl0';
export const DEFAULT_USER_MEMORY_MB = 1024;

export interface DockerFactoryOptions {
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

/** Makes an invoker's containers (ContainerFactory.scala). */
export interface ContainerFactory {
  create(action: ResolvedAction): Promise<Container>;
  /** Removes every container of this invoker, also those of an earlier process. */
  removeAll(): Promise<void>;
}

/** On Docker. Source: DockerContainerFactory.scala @ 1.0.0, 2.0.0, 1fae641a2. */
export class DockerContainerFactory implements ContainerFactory {
  readonly #options: DockerFactoryOptions;
  readonly #prefix: string;
  readonly #docker: DockerCli;
  readonly #pauser: Pauser;
  readonly #containerOptions: ContainerOptions;
  #count = 0;

  constructor(options: DockerFactoryOptions) {
    this.#options = options;
    this.#docker = new DockerCli(options.docker);
    this.#prefix = options.prefix ?? DEFAULT_PREFIX;
    if (!/^wsk[\p{L}\p{Nd}_.-]*$/u.test(this.#prefix)) {
      throw new InvalidActionError(`prefix ${this.#prefix} does not begin with wsk`);
    }
    this.#pauser = (options.useRunc ?? true) ? runc : this.#docker;
    this.#containerOptions = {
      docker: this.#docker,
      pauser: this.#pauser,
      client: {
        style: options.clientStyle ?? 'apache',
        retryNoResponse: options.retryNoResponse ?? false,
      },
      logs: options.logs ?? 'file',
      containersFolder:
        options.containersFolder === undefined
          ? '/var/lib/docker/containers'
          : options.containersFolder,
      oomPolls: options.oomPolls ?? 400,
    };
  }

  create({ namespace, name: action, memoryMb, cpus }: ResolvedAction): Promise<Container> {
    const { image, userMemoryMb = DEFAULT_USER_MEMORY_MB, userCpus = null } = this.#options;
    const spec = {
      image,
      name: containerName(this.#prefix, ++this.#count, namespace, action),
      memoryMb,
      cpuShares: sharesOf(memoryMb, userMemoryMb),
      cpus: cpus ?? cpuLimit(userCpus, userMemoryMb, memoryMb),
      network: this.#options.network ?? 'bridge',
      apiHost: 'http://172.17.0.1:3233',
    };
    return ActionContainer.create(spec, this.#containerOptions);
  }

  /**
   * `removeAllActionContainers`: every container whose name contains the prefix is unpaused,
   * whether or not that works, and removed.
   */
  async removeAll(): Promise<void> {
    const ids = await this.#docker.idsByName(`${this.#prefix}_`);
    await Promise.all(
      ids.map(async (id) => {
        await this.#pauser.unpause(id).catch(() => undefined);
        await this.#docker.rm(id).catch(() => undefined);
      }),
    );
  }
}
