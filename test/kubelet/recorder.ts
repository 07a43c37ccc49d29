import { dirname } from 'node:path';
import type {
  ContainerEngineListener,
  ContainerInfo,
} from '../../openwhisk-plugin/host/ports/index.js';
import { type KernelLimits, kernelLimits } from '../kubernetes/kernel.js';
import { groupOf, oomKills } from './cgroups.js';
import type { Reading, UserLimits } from './reverts.js';

/** A container that was seen. */
export interface SeenContainer {
  readonly info: ContainerInfo;
  /** Its cgroup and its pod's. */
  readonly group: string;
  readonly podGroup: string;
  readonly user: UserLimits;
  ended: boolean;
  oomKills: number;
  now: { readonly ofPod: KernelLimits; readonly ofContainer: KernelLimits };
  /** Before Gleaner wrote any of its or its pod's. */
  readonly first: { readonly ofPod: KernelLimits; readonly ofContainer: KernelLimits };
}

/** Follows the node's action containers and reads their limits from the kernel, beside the hook. */
export class LimitRecorder implements ContainerEngineListener {
  readonly readings: Reading[] = [];
  readonly containers = new Map<string, SeenContainer>();
  /** Of kubelet's group for pods of one quality of service: the values in their order. */
  readonly qosWeights: number[] = [];
  #timer: NodeJS.Timeout | null = null;
  #qosGroup: string | null = null;

  start(everyMillis: number): void {
    this.#timer = setInterval(() => this.read(), everyMillis);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /** The running container of a pod. */
  of(name: string): SeenContainer | null {
    for (const each of this.containers.values())
      if (each.info.name.startsWith(name) && !each.ended) return each;
    return null;
  }

  read(): void {
    for (const container of this.containers.values()) {
      if (container.ended) continue;
      try {
        const from = Date.now();
        const ofContainer = kernelLimits(container.group);
        const ofPod = kernelLimits(container.podGroup);
        const to = Date.now() + 1;
        container.now = { ofPod, ofContainer };
        container.oomKills = oomKills(container.group);
        this.readings.push({ container: container.info.id, from, to, ofPod, ofContainer });
        if (container.podGroup.includes('burstable')) this.#qosGroup = dirname(container.podGroup);
      } catch {
        // It is being removed.
      }
    }
    if (this.#qosGroup === null) return;
    const { weight } = kernelLimits(this.#qosGroup);
    if (this.qosWeights.at(-1) !== weight) this.qosWeights.push(weight);
  }

  containerStarted(info: ContainerInfo): void {
    const group = groupOf(info.pid);
    const podGroup = dirname(group);
    const now = { ofPod: kernelLimits(podGroup), ofContainer: kernelLimits(group) };
    // Gleaner may have written the pod's for its last container.
    const earlier = [...this.containers.values()].find((each) => each.podGroup === podGroup);
    const first = { ...now, ofPod: earlier?.first.ofPod ?? now.ofPod };
    const { shares, quota } = info.user;
    const user = { shares, quota, podQuota: info.pod?.user.quota ?? 0 };
    const ended = { ended: false, oomKills: 0 };
    this.containers.set(info.id, { info, group, podGroup, user, ...ended, now, first });
  }

  containerEnded(id: string): void {
    const container = this.containers.get(id);
    if (container !== undefined) container.ended = true;
  }

  containerPaused(): void {}
  containerOom(): void {}
  eventSkipped(): void {}
  bridgesChanged(): void {}
  reconciled(): void {}
  engineDown(): void {}
}
