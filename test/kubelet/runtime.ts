import { cpus } from 'node:os';
import { millis } from '../../config/index.js';
import { GrpcClient, type Message, message } from '../../openwhisk-plugin/host/kubernetes/index.js';

const SERVICE = '/runtime.v1.RuntimeService/';
const CALLS = [
  'ListPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'UpdateContainerResources',
] as const;

/** What kubelet asks of the container runtime, done without it. */
export class Runtime {
  readonly #client: GrpcClient;

  constructor(socketPath: string) {
    this.#client = new GrpcClient({
      socketPath,
      methods: new Set(CALLS.map((name) => SERVICE + name)),
      deadline: millis(30_000),
    });
  }

  /**
   * As the static CPU manager does: it names only the cores, and the runtime writes every limit of
   * the container again as it was created.
   */
  async rewrite(container: string): Promise<void> {
    const resources = message([6, `0-${cpus().length - 1}`]);
    await this.#call('UpdateContainerResources', message([1, container], [2, resources]));
  }

  /** Processes and mounts of pods outlive kubelet and runtime. */
  async removePods(): Promise<void> {
    for (const pod of (await this.#call('ListPodSandbox', message())).messages(1)) {
      await this.#call('StopPodSandbox', message([1, pod.text(1)]));
      await this.#call('RemovePodSandbox', message([1, pod.text(1)]));
    }
  }

  close(): void {
    this.#client.close();
  }

  #call(name: (typeof CALLS)[number], request: Buffer): Promise<Message> {
    return this.#client.call(SERVICE + name, request);
  }
}
