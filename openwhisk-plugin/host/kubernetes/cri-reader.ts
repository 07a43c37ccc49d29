import { existsSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { bytes, type GleanerError, type Millis, millicores } from '../../../config/index.js';
import {
  type ContainerList,
  type EngineEvents,
  type EngineEventsListener,
  EngineResponseError,
  type EngineSource,
  type EngineTime,
} from '../engine/index.js';
import type { Bridge, ContainerInfo, HostFacts } from '../ports/index.js';
import { ContainerdEvents } from './containerd-events.js';
import { type ContainerState, CriClient } from './cri.js';
import { limitsOf } from './pod-limits.js';

/** How OpenWhisk marks its pods and their container [OpenWhisk WhiskPodBuilder.scala]. */
const LABEL = 'user-action-pod';
const CONTAINER = 'user-action';
const POD_NAME = 'io.kubernetes.pod.name';
const POD_UID = 'io.kubernetes.pod.uid';
/** With most network plug-ins a pod's packets pass some interface of the host. */
const EVERYWHERE: Bridge = { interfaceName: 'any', networkName: 'pods', gateway: null };
/** Together a second, in which a container that was started shows as running. */
const RETRY_MILLIS = 5;
const ATTEMPTS = 200;

export interface CriReaderOptions {
  /** The runtime's unix socket. */
  readonly socketPath: string;
  /** Deadline of one call. Default 5 s. */
  readonly deadline?: Millis;
  /** Where packets are captured: on all interfaces of the host (default), or in each pod. */
  readonly capture?: 'host' | 'pod';
  /** The file system's root: `/` but in tests. */
  readonly root?: string;
}

/** The action pods of a Kubernetes node now, and its events. */
export class CriReader implements EngineSource {
  readonly #cri: CriClient;
  readonly #root: string;
  /** Capture points in pods, by sandbox; null: the capture is on the host. */
  readonly #inPods: Map<string, Bridge> | null;
  unreadable = 0;
  onBridges: (bridges: readonly Bridge[]) => void = () => undefined;
  onUnreadable: (id: string, error: GleanerError) => void = () => undefined;

  constructor({ socketPath, deadline, capture, root = '/' }: CriReaderOptions) {
    this.#cri = new CriClient(socketPath, deadline);
    this.#root = root;
    this.#inPods = capture === 'pod' ? new Map() : null;
  }

  /** The kernel shows the host; kubelet's cgroups the driver of a runtime that does not show it. */
  async facts(): Promise<HostFacts> {
    const { name, version, api } = await this.#cri.version();
    const driver = await this.#cri.cgroupDriver();
    const cgroups = join(this.#root, 'sys/fs/cgroup');
    const isUnified = existsSync(join(cgroups, 'cgroup.controllers'));
    const pods = join(isUnified ? cgroups : join(cgroups, 'cpu'), 'kubepods.slice');
    return {
      cpu: millicores(cpus().length * 1000),
      memory: bytes(totalmem()),
      cgroupVersion: isUnified ? 2 : 1,
      cgroupDriver: driver ?? (existsSync(pods) ? 'systemd' : 'cgroupfs'),
      engineVersion: `${name} ${version}`,
      apiVersion: api,
    };
  }

  readBridges(): Promise<void> {
    this.onBridges(this.#inPods === null ? [EVERYWHERE] : [...this.#inPods.values()]);
    return Promise.resolve();
  }

  async list(): Promise<ContainerList> {
    const before = [...(this.#inPods ?? [])];
    const pods = await this.#cri.sandboxes(LABEL, 'true');
    const containers = await this.#cri.containers();
    const items = containers.map(({ id, sandbox, name }) => ({
      id,
      isManaged: name === CONTAINER && pods.has(sandbox),
      isPaused: null,
    }));
    const managed = containers.filter((_, n) => items[n]?.isManaged).map(({ sandbox }) => sandbox);
    // A container that started meanwhile, and was inspected, has a new point.
    for (const [sandbox, point] of before)
      if (!managed.includes(sandbox) && this.#inPods?.get(sandbox) === point)
        this.#podEnded(sandbox);
    return { items, unreadable: 0, isComplete: true };
  }

  /** An action pod: `inspect` has seen its label. */
  isManaged(): boolean {
    return true;
  }

  async inspect(id: string): Promise<ContainerInfo | 'unreadable' | null> {
    try {
      // A pod's sandbox is a task of containerd, but no container of the CRI.
      const [listed] = await this.#cri.containers(id);
      if (listed?.name !== CONTAINER) return null;
      const [pod, container] = await Promise.all([
        this.#cri.sandbox(listed.sandbox),
        this.#started(id),
      ]);
      if (pod?.labels.get(LABEL) !== 'true') return null;
      if (container?.state !== 'running' || container.pid === 0) return null;
      const user = limitsOf(container.resources);
      const whole = pod.resources === null ? user : limitsOf(pod.resources);
      const name = pod.labels.get(POD_NAME) ?? id;
      const uid = pod.labels.get(POD_UID) ?? '';
      // Pods of two namespaces may have one name.
      const point = `${name}/${uid}`;
      this.#inPods?.set(listed.sandbox, {
        interfaceName: point,
        networkName: 'pods',
        gateway: null,
        namespaceOf: pod.pid || container.pid,
      });
      await this.readBridges();
      return {
        id,
        name,
        address: pod.address === '' ? null : pod.address,
        bridge: this.#inPods === null ? EVERYWHERE.interfaceName : point,
        pid: container.pid,
        startedAt: container.startedAt,
        paused: false,
        // Between pods only the pod's weight decides.
        user: { ...user, shares: whole.shares },
        pod: { uid, user: whole },
      };
    } catch (error) {
      if (!(error instanceof EngineResponseError)) throw error;
      this.unreadable++;
      this.onUnreadable(id, error);
      return 'unreadable';
    }
  }

  /** containerd reports a start shortly before its CRI shows the container as running. */
  async #started(id: string): Promise<ContainerState | null> {
    for (let attempt = 0; ; attempt++) {
      const container = await this.#cri.container(id);
      if (container?.state !== 'created' || attempt >= ATTEMPTS) return container;
      await setTimeout(RETRY_MILLIS);
    }
  }

  events(time: EngineTime, listener: EngineEventsListener): EngineEvents {
    if (this.#inPods === null) return new ContainerdEvents(this.#cri, time, listener);
    return new ContainerdEvents(this.#cri, time, {
      ...listener,
      ended: (id, at) => {
        listener.ended(id, at);
        this.#podEnded(id);
      },
    });
  }

  /** Its sandbox ended: nothing in its network can be captured any more. */
  #podEnded(sandbox: string): void {
    if (this.#inPods?.delete(sandbox)) void this.readBridges();
  }

  close(): void {
    this.#cri.grpc.close();
  }
}
