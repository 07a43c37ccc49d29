import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ClientOptions,
  type ContainerAnswer,
  ContainerClient,
  type PostOptions,
} from './container-client.js';
import { LOG_SENTINEL, readLogFile } from './container-logs.js';
import type { DockerCli, Pauser, RunSpec } from './docker-cli.js';
import { LogsIncompleteError } from './errors.js';

/**
 * How an activation's log lines are collected: `file` tails the engine's file (an installation's
 * default), `cli` calls `docker logs` (the standalone server), `none` (a log limit of 0).
 */
export type LogMode = 'file' | 'cli' | 'none';

export interface ContainerOptions {
  readonly docker: DockerCli;
  /** What pauses containers (whisk.docker.container-factory.use-runc). */
  readonly pauser: Pauser;
  readonly client: ClientOptions;
  readonly logs: LogMode;
  /**
   * The engine's folder of containers, read as the invoker reads it; null: not readable, every
   * question goes to the command line.
   */
  readonly containersFolder: string | null;
  /**
   * How often the OOM state is asked for after a broken connection, 5 ms apart (waitForOomState /
   * filePollInterval = 400).
   */
  readonly oomPolls: number;
}

const OOM_POLL_MS = 5;

/** Both `/init` and `/run` end here: the answer, or that the kernel killed the container. */
export type EndpointAnswer = ContainerAnswer | { readonly kind: 'memory-exhausted' };

export interface EndpointResult {
  readonly answer: EndpointAnswer;
  readonly startedMs: number;
  /**
   * When the answer was there, the wait for an OOM state not counted (as
   * DockerContainer.callContainer).
   */
  readonly durationMs: number;
}

/** The container operations that the pool and its proxies use. */
export interface Container {
  readonly name: string;
  /**
   * `/init` or `/run`; @throws ContainerHealthError if `reschedule` is set and the connection is
   * refused
   */
  call(path: '/init' | '/run', json: string, options: PostOptions): Promise<EndpointResult>;
  /** Pauses it. */
  suspend(): Promise<void>;
  resume(): Promise<void>;
  destroy(): Promise<void>;
  /** @param wait the activation ended well, so both end markers will come */
  collectLogs(sinceMs: number, untilMs: number, wait: boolean): Promise<readonly string[]>;
}

/**
 * One container as the engine runs it. Source: DockerContainer.scala and Container.scala @ 1.0.0,
 * 2.0.0, 1fae641a2.
 */
export class ActionContainer implements Container {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly #options: ContainerOptions;
  readonly #client: ContainerClient;
  #logOffset = 0;

  private constructor(id: string, name: string, address: string, options: ContainerOptions) {
    this.id = id;
    this.name = name;
    this.address = address;
    this.#options = options;
    this.#client = new ContainerClient(address, 8080, options.client);
  }

  /** Runs it and learns its address; a container without one is removed. */
  static async create(spec: RunSpec, options: ContainerOptions): Promise<ActionContainer> {
    const id = await options.docker.run(spec);
    try {
      const address =
        (await addressFromFile(options.containersFolder, id, spec.network)) ??
        (await options.docker.address(id, spec.network));
      return new ActionContainer(id, spec.name, address, options);
    } catch (error) {
      await options.docker.rm(id).catch(() => undefined);
      throw error;
    }
  }

  async suspend(): Promise<void> {
    this.#client.close();
    await this.#options.pauser.pause(this.id);
  }

  async resume(): Promise<void> {
    await this.#options.pauser.unpause(this.id);
  }

  async destroy(): Promise<void> {
    this.#client.abandon();
    await this.#options.docker.rm(this.id);
  }

  async call(path: '/init' | '/run', json: string, options: PostOptions): Promise<EndpointResult> {
    const startedMs = performance.now();
    const answer = await this.#client.post(path, json, options);
    const durationMs = performance.now() - startedMs;
    if (answer.kind === 'connection-error' && (await this.#oomKilled())) {
      return { answer: { kind: 'memory-exhausted' }, startedMs, durationMs };
    }
    return { answer, startedMs, durationMs };
  }

  async collectLogs(sinceMs: number, untilMs: number, wait: boolean): Promise<readonly string[]> {
    const { logs, containersFolder, docker } = this.#options;
    if (logs === 'none') return [];
    if (logs === 'file' && containersFolder !== null) {
      const path = join(containersFolder, this.id, `${this.id}-json.log`);
      const read = await readLogFile(path, this.#logOffset, wait);
      this.#logOffset = read.offset;
      // Without them the invoker removes the container (LogCollectingException).
      if (wait && !read.complete) throw new LogsIncompleteError(this.name);
      return read.lines;
    }
    const lines = (await docker.logs(this.id, sinceMs, untilMs)).split('\n');
    const end = lines.findIndex((line) => line.includes(LOG_SENTINEL));
    return end < 0 ? lines : lines.slice(0, end);
  }

  /**
   * An unreadable file counts as "not killed" (DockerClientWithFileAccess.isOomKilled), and is
   * asked again all the same.
   */
  async #oomKilled(): Promise<boolean> {
    for (let poll = 0; poll <= this.#options.oomPolls && !this.#client.abandoned; poll++) {
      if (await oomFromFile(this.#options.containersFolder, this.id)) return true;
      await sleep(OOM_POLL_MS);
    }
    return false;
  }
}

interface EngineConfig {
  readonly State?: { readonly OOMKilled?: boolean };
  readonly NetworkSettings?: {
    readonly Networks?: Record<string, { readonly IPAddress?: string } | undefined>;
  };
}

async function engineConfig(folder: string | null, id: string): Promise<EngineConfig | null> {
  if (folder === null) return null;
  try {
    return JSON.parse(await readFile(join(folder, id, 'config.v2.json'), 'utf8')) as EngineConfig;
  } catch {
    return null;
  }
}

async function addressFromFile(
  folder: string | null,
  id: string,
  network: string,
): Promise<string | null> {
  const address = (await engineConfig(folder, id))?.NetworkSettings?.Networks?.[network]?.IPAddress;
  return address ? address : null;
}

async function oomFromFile(folder: string | null, id: string): Promise<boolean> {
  return (await engineConfig(folder, id))?.State?.OOMKilled === true;
}
