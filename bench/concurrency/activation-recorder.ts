import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { DockerEngine, managedByPrefix } from '../../openwhisk-plugin/host/docker/index.js';
import { addressOf, type ContainerInfo } from '../../openwhisk-plugin/host/ports/index.js';
import { TcpdumpTap } from '../../openwhisk-plugin/host/tap/index.js';

const run = promisify(execFile);

/**
 * Observes one invoker's containers with the product's engine and tap, without a hook. Counts each
 * `/run` on the wire, and pins containers to a core as they start.
 */
export class ActivationRecorder {
  readonly #engine: DockerEngine;
  readonly #tap = new TcpdumpTap();
  readonly #core: number | null;
  readonly #running = new Map<string, ContainerInfo>();
  #pinning: Promise<unknown> = Promise.resolve();
  /** Heads of `/run` that were read. */
  runs = 0;
  /** OOM kills reported by the engine. */
  kills = 0;
  /** Times that packets were missed. */
  losses = 0;

  constructor(prefix: string, core: number | null) {
    this.#engine = new DockerEngine({ managed: managedByPrefix(prefix) });
    this.#core = core;
  }

  /** Resolves when tcpdump listens. */
  async start(): Promise<void> {
    this.#tap.start({
      request: ({ kind }) => {
        if (kind === 'run') this.runs++;
      },
      answer: () => undefined,
      closed: () => undefined,
      anomaly: () => undefined,
      listening: () => undefined,
      counted: () => undefined,
      lost: () => {
        this.losses++;
      },
    });
    await this.#engine.start({
      containerStarted: (info) => this.#started(info),
      containerEnded: (id) => {
        const info = this.#running.get(id);
        this.#running.delete(id);
        if (info?.address) this.#tap.unbind(addressOf(info.address));
      },
      containerPaused: () => undefined,
      containerOom: () => {
        this.kills++;
      },
      bridgesChanged: (bridges) => this.#tap.watch(bridges),
      reconciled: () => undefined,
      engineDown: () => undefined,
    });
    for (let tries = 0; this.#tap.listeningOn.length === 0; tries++) {
      if (tries === 1000) throw new Error('tcpdump does not listen');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** First processes of the containers that run. */
  get pids(): number[] {
    return [...this.#running.values()].map(({ pid }) => pid);
  }

  /** When those that have started so far are on their core. */
  async pinned(): Promise<void> {
    await this.#pinning;
  }

  async stop(): Promise<void> {
    await this.#engine.stop();
    await this.#tap.stop();
  }

  #started(info: ContainerInfo): void {
    this.#running.set(info.id, info);
    if (info.address !== null) this.#tap.bind(addressOf(info.address), info.startedAt);
    if (this.#core === null) return;
    const update = run('docker', ['update', '--cpuset-cpus', String(this.#core), info.id]);
    // One that was killed meanwhile cannot be pinned any more.
    this.#pinning = Promise.all([this.#pinning, update.catch(() => undefined)]);
  }
}

/**
 * This process and what it starts from now on, on one core; `null`: on all. False where that cannot
 * be.
 */
export async function pinSelf(core: number | null): Promise<boolean> {
  const cores = core === null ? '0-1023' : String(core);
  return await run('taskset', ['-a', '-c', '-p', cores, String(process.pid)]).then(
    () => true,
    () => false,
  );
}
