import {
  ACTION_PROXY,
  type Container,
  ContainerClient,
  type ContainerFactory,
  type EndpointResult,
  type PostOptions,
  type ResolvedAction,
} from '../../simulator/invoker-emulator/index.js';
import type { Pod, PodOptions, Pods } from './pods.js';

const PROXY = '/action/proxy.mjs';

/** A pod with the action proxy inside. */
export const RUNS_ACTIONS = { program: [PROXY], mounts: { [PROXY]: ACTION_PROXY } };

/** A pod that OpenWhisk's Kubernetes invoker uses as an action container. */
class PodContainer implements Container {
  readonly name: string;
  readonly #pods: Pods;
  readonly #pod: Pod;
  readonly #client: ContainerClient;

  constructor(pods: Pods, pod: Pod) {
    this.name = pod.name;
    this.#pods = pods;
    this.#pod = pod;
    this.#client = new ContainerClient(pod.address, 8080);
  }

  async call(path: '/init' | '/run', json: string, options: PostOptions): Promise<EndpointResult> {
    const startedMs = performance.now();
    const answer = await this.#client.post(path, json, options);
    return { answer, startedMs, durationMs: performance.now() - startedMs };
  }

  /** Pods are never paused [OpenWhisk KubernetesContainer.scala]. */
  suspend(): Promise<void> {
    return Promise.resolve();
  }

  resume(): Promise<void> {
    return Promise.resolve();
  }

  async destroy(): Promise<void> {
    this.#client.abandon();
    await this.#pods.remove(this.#pod);
  }

  collectLogs(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }
}

/** Action pods with the action proxy inside, as OpenWhisk makes them without cpu-scaling. */
export class PodContainerFactory implements ContainerFactory {
  readonly #pods: Pods;
  readonly #network: PodOptions['network'];

  constructor(pods: Pods, network: PodOptions['network'] = 'bridge') {
    this.#pods = pods;
    this.#network = network;
  }

  async create({ memoryMb }: ResolvedAction): Promise<Container> {
    const pod = await this.#pods.create({
      network: this.#network,
      memoryMiB: memoryMb,
      ...RUNS_ACTIONS,
    });
    return new PodContainer(this.#pods, pod);
  }

  removeAll(): Promise<void> {
    return this.#pods.removeAll();
  }
}
