import { z } from 'zod';
import type { Micros, Millis } from '../../../config/index.js';
import { EngineResponseError, EngineStatusError } from '../engine/index.js';
import { GrpcClient } from './grpc-client.js';
import type { Resources } from './pod-limits.js';
import { type Message, message } from './protobuf.js';

const RUNTIME = '/runtime.v1.RuntimeService';
export const EVENTS = '/containerd.services.events.v1.Events/Subscribe';
/** Nothing that changes a pod or a container is among them. */
const READS = new Set([
  `${RUNTIME}/Version`,
  `${RUNTIME}/Status`,
  `${RUNTIME}/ListPodSandbox`,
  `${RUNTIME}/ListContainers`,
  `${RUNTIME}/PodSandboxStatus`,
  `${RUNTIME}/ContainerStatus`,
  EVENTS,
]);
const STATES = ['created', 'running', 'exited', 'unknown'] as const;
const RUNNING = 1;
const NOT_FOUND = 5;

/**
 * Extra information is JSON whose form is the runtime's own. containerd and CRI-O name the process
 * alike; only containerd shows the pod's resources, in Go's JSON of `LinuxContainerResources`.
 */
const containerInfo = z.object({ pid: z.number().int().nonnegative() });
const amount = z.number().default(0);
const sandboxInfo = z.object({
  pid: z.number().int().nonnegative().default(0),
  config: z
    .object({
      linux: z
        .object({
          resources: z
            .object({
              cpu_period: amount,
              cpu_quota: amount,
              cpu_shares: amount,
              memory_limit_in_bytes: amount,
              memory_swap_limit_in_bytes: amount,
            })
            .nullish(),
        })
        .nullish(),
    })
    .nullish(),
});

/** containerd's, in which the runtime's own options have their names of the configuration file. */
const runtimeConfig = z.object({
  containerd: z.object({
    defaultRuntimeName: z.string(),
    runtimes: z.record(
      z.string(),
      z.object({ options: z.object({ SystemdCgroup: z.boolean().default(false) }).nullish() }),
    ),
  }),
});

export interface ListedByCri {
  readonly id: string;
  readonly sandbox: string;
  /** Its name within the pod. */
  readonly name: string;
}

export interface ContainerState {
  readonly state: (typeof STATES)[number];
  readonly startedAt: Micros;
  readonly pid: number;
  readonly resources: Resources;
}

export interface SandboxState {
  readonly labels: ReadonlyMap<string, string>;
  /** Empty with the host's network. */
  readonly address: string;
  /** Lives as long as the pod's network; 0: the runtime keeps no process for it. */
  readonly pid: number;
  /** The sum of its containers; null if the runtime does not show it. */
  readonly resources: Resources | null;
}

/**
 * The Container Runtime Interface of a Kubernetes node, by reading only. Field numbers are those of
 * cri-api's `pkg/apis/runtime/v1/api.proto` [Kubernetes cri-api].
 */
export class CriClient {
  readonly grpc: GrpcClient;

  constructor(socketPath: string, deadline?: Millis) {
    this.grpc = new GrpcClient({
      socketPath,
      methods: READS,
      ...(deadline === undefined ? {} : { deadline }),
    });
  }

  async version(): Promise<{ name: string; version: string; api: string }> {
    const answer = await this.#call('Version', message([1, 'v1']));
    return { name: answer.text(2), version: answer.text(3), api: answer.text(4) };
  }

  /** Null where the runtime does not show it. */
  async cgroupDriver(): Promise<'cgroupfs' | 'systemd' | null> {
    const answer = await this.#call('Status', message([1, true]));
    // Its form is no part of the CRI, so another one is no error.
    const read = runtimeConfig.safeParse(jsonOf(answer, 'config'));
    if (!read.success) return null;
    const { runtimes, defaultRuntimeName } = read.data.containerd;
    return runtimes[defaultRuntimeName]?.options?.SystemdCgroup === true ? 'systemd' : 'cgroupfs';
  }

  /** Identifiers of the pods that have the label. */
  async sandboxes(label: string, value: string): Promise<Set<string>> {
    const selector = message([3, message([1, label], [2, value])]);
    const answer = await this.#call('ListPodSandbox', message([1, selector]));
    return new Set(answer.messages(1).map((sandbox) => sandbox.text(1)));
  }

  /** Those that run, since a listing without a filter also has those that ended; or one by id. */
  async containers(id = ''): Promise<ListedByCri[]> {
    const filter = id === '' ? message([2, message([1, RUNNING])]) : message([1, id]);
    const answer = await this.#call('ListContainers', message([1, filter]));
    return answer.messages(1).map((container) => ({
      id: container.text(1),
      sandbox: container.text(2),
      name: container.message(3).text(1),
    }));
  }

  /** Null if it is removed. */
  async container(id: string): Promise<ContainerState | null> {
    const answer = await this.#found('ContainerStatus', message([1, id], [2, true]));
    if (answer === null) return null;
    const status = answer.message(1);
    return {
      state: STATES[status.number(3)] ?? 'unknown',
      startedAt: Number(status.integer(5) / 1000n) as Micros,
      pid: infoOf(answer, containerInfo).pid,
      resources: resourcesOf(status.message(16).message(1)),
    };
  }

  /** Null if it is removed. */
  async sandbox(id: string): Promise<SandboxState | null> {
    const answer = await this.#found('PodSandboxStatus', message([1, id], [2, true]));
    if (answer === null) return null;
    const status = answer.message(1);
    const { pid, config } = infoOf(answer, sandboxInfo);
    const shown = config?.linux?.resources ?? null;
    return {
      labels: status.map(7),
      address: status.message(5).text(1),
      pid,
      resources: shown && {
        period: shown.cpu_period,
        quota: shown.cpu_quota,
        shares: shown.cpu_shares,
        memory: shown.memory_limit_in_bytes,
        memoryAndSwap: shown.memory_swap_limit_in_bytes,
      },
    };
  }

  #call(method: string, request: Buffer): Promise<Message> {
    return this.grpc.call(`${RUNTIME}/${method}`, request);
  }

  async #found(method: string, request: Buffer): Promise<Message | null> {
    try {
      return await this.#call(method, request);
    } catch (error) {
      if (error instanceof EngineStatusError && error.status === NOT_FOUND) return null;
      throw error;
    }
  }
}

const resourcesOf = (linux: Message): Resources => ({
  period: linux.number(1),
  quota: linux.number(2),
  shares: linux.number(3),
  memory: linux.number(4),
  memoryAndSwap: linux.number(10),
});

/** Extra information of an answer; undefined if it is not JSON. */
function jsonOf(answer: Message, key: string): unknown {
  try {
    return JSON.parse(answer.map(2).get(key) ?? '{}');
  } catch {
    return undefined;
  }
}

function infoOf<T>(answer: Message, schema: z.ZodType<T>): T {
  const value = jsonOf(answer, 'info');
  if (value === undefined)
    throw new EngineResponseError('the extra information of a container is not JSON');
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const first = read.error.issues[0];
  throw new EngineResponseError(
    `the extra information of a container, at ${first?.path.join('.')}: ${first?.message}`,
  );
}
