import { accessSync, constants } from 'node:fs';
import { runCommand } from './command.js';
import { CommandFailedError, DockerMissingError } from './errors.js';

/**
 * Limits in ms of docker commands: application.conf, whisk.docker.client.timeouts and, of `logs`,
 * ExtendedDockerClient.waitForLogs (DockerCliLogStore.scala) @ 1.0.0, 2.0.0, 1fae641a2.
 */
const DOCKER_TIMEOUT_MS = 60_000;
const PAUSE_TIMEOUT_MS = 10_000;
const LOGS_TIMEOUT_MS = 2_000;

/** What one action container is started with. */
export interface RunSpec {
  readonly image: string;
  readonly name: string;
  /** Whole MB; goes to `--memory` and `--memory-swap` alike. */
  readonly memoryMb: number;
  readonly cpuShares: number;
  /** Cores; only from 2.0.0 on and only where user-cpus is set. */
  readonly cpus: number | null;
  readonly network: string;
  readonly apiHost: string;
}

export interface DockerCliOptions {
  /** Deadline of a pause or unpause. */
  readonly pauseTimeoutMs?: number;
  /**
   * Max concurrent `docker run`; 0: unbounded (application.conf, whisk.docker.client.parallel-runs
   * = 10).
   */
  readonly parallelRuns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly executable?: string;
}

/**
 * Where the invoker looks (DockerClient.dockerCmd, DockerClient.scala @ 1.0.0, 2.0.0, 1fae641a2):
 * not on PATH.
 */
const places = ['/usr/bin/docker', '/usr/local/bin/docker'];

function findDocker(): string {
  for (const place of places) {
    try {
      accessSync(place, constants.X_OK);
      return place;
    } catch {
      // the next place
    }
  }
  throw new DockerMissingError(places);
}

/** A double as Scala prints it: `1.0`, `0.25`. */
const scalaDouble = (value: number): string =>
  Number.isInteger(value) ? `${value}.0` : String(value);

/**
 * Arguments of `docker run` in the order that a recorded invoker used.
 *
 * - `--cpu-shares` … `--network`, `-e`, `--name`, `--cpus`: DockerContainer.create
 * (DockerContainer.scala @ 1.0.0; `--cpus` from 2.0.0)
 * - `__OW_API_HOST`: DockerContainerFactory.createContainer
 * - capabilities, ulimit, pids: InvokerReactive.scala, containerFactory; `--log-driver`:
 * DockerToActivationLogStore.containerParameters
 */
export function runArguments(spec: RunSpec): string[] {
  const args = ['run', '-d'];
  args.push('--cpu-shares', String(spec.cpuShares));
  args.push('--memory', `${spec.memoryMb}m`, '--memory-swap', `${spec.memoryMb}m`);
  args.push('--network', spec.network, '-e', `__OW_API_HOST=${spec.apiHost}`);
  args.push('--name', spec.name);
  if (spec.cpus !== null) args.push('--cpus', scalaDouble(spec.cpus));
  args.push('--pids-limit', '1024', '--cap-drop', 'NET_RAW', '--cap-drop', 'NET_ADMIN');
  args.push('--ulimit', 'nofile=1024:1024', '--log-driver', 'json-file', spec.image);
  return args;
}

/**
 * Pause and resume past the engine: neither shows in its API or events. Source: RuncClient.scala @
 * 2.0.0 and 1fae641a2; @ 1.0.0 the same commands of `/usr/bin/docker-runc`. The root is where
 * dockerd keeps runc's state; the invoker gets it mounted at runc's own default
 * (ansible/roles/invoker/tasks/deploy.yml, runcdir).
 */
const RUNC = ['/usr/bin/runc', '--root', '/run/docker/runtime-runc/moby'];

/** Pauses containers and resumes them: runc, or docker where `use-runc` is off. */
export type Pauser = Pick<DockerCli, 'pause' | 'unpause'>;

export const runc: Pauser = {
  async pause(id) {
    await runCommand([...RUNC, 'pause', id], { timeoutMs: PAUSE_TIMEOUT_MS });
  },
  async unpause(id) {
    await runCommand([...RUNC, 'resume', id], { timeoutMs: PAUSE_TIMEOUT_MS });
  },
};

/**
 * The docker command-line client as the invoker uses it: one process a command, no API call of our
 * own.
 */
export class DockerCli {
  readonly #docker: string;
  readonly #pauseTimeoutMs: number;
  readonly #env: Readonly<Record<string, string>> | undefined;
  readonly #waiting: (() => void)[] = [];
  #permits: number;

  constructor(options: DockerCliOptions = {}) {
    this.#docker = options.executable ?? findDocker();
    this.#pauseTimeoutMs = options.pauseTimeoutMs ?? PAUSE_TIMEOUT_MS;
    this.#env = options.env;
    const parallel = options.parallelRuns ?? 10;
    this.#permits = parallel > 0 ? parallel : Number.POSITIVE_INFINITY;
  }

  /**
   * Starts a container and gives its id; one that broke half-way (status 125 or 127, id printed) is
   * removed, as DockerContainer.create does.
   */
  async run(spec: RunSpec): Promise<string> {
    await this.#acquire();
    try {
      return await this.#command(runArguments(spec));
    } catch (error) {
      if (
        error instanceof CommandFailedError &&
        (error.exitStatus === 125 || error.exitStatus === 127)
      ) {
        const id = error.stdout.trim();
        if (/^[0-9a-f]{64}$/.test(id)) await this.rm(id).catch(() => undefined);
      }
      throw error;
    } finally {
      this.#release();
    }
  }

  /** DockerClient.inspectIPAddress. */
  async address(id: string, network: string): Promise<string> {
    const format = `{{.NetworkSettings.Networks.${network}.IPAddress}}`;
    return await this.#command(['inspect', '--format', format, id]);
  }

  async pause(id: string): Promise<void> {
    await this.#command(['pause', id], this.#pauseTimeoutMs);
  }

  async unpause(id: string): Promise<void> {
    await this.#command(['unpause', id], this.#pauseTimeoutMs);
  }

  async rm(id: string): Promise<void> {
    await this.#command(['rm', '-f', id]);
  }

  /** DockerClient.ps with `all`: ids of every container whose name contains the text. */
  async idsByName(name: string): Promise<string[]> {
    const out = await this.#command([
      'ps',
      '--quiet',
      '--no-trunc',
      '--all',
      '--filter',
      `name=${name}`,
    ]);
    return out.split('\n').filter((line) => line !== '');
  }

  /**
   * ExtendedDockerClient.collectLogs (DockerCliLogStore.scala, the standalone server's): whole
   * seconds, one second of margin.
   */
  async logs(id: string, sinceMs: number, untilMs: number): Promise<string> {
    const since = String(Math.floor(sinceMs / 1000));
    const until = String(Math.floor((untilMs + 1000) / 1000));
    return await this.#command(
      ['logs', id, '--since', since, '--until', until, '--timestamps'],
      LOGS_TIMEOUT_MS,
    );
  }

  #command(args: readonly string[], timeoutMs = DOCKER_TIMEOUT_MS): Promise<string> {
    return runCommand(
      [this.#docker, ...args],
      this.#env ? { timeoutMs, env: this.#env } : { timeoutMs },
    );
  }

  /** A fair semaphore (DockerClient.runSemaphore). */
  async #acquire(): Promise<void> {
    if (this.#permits > 0) {
      this.#permits--;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#permits++;
  }
}
