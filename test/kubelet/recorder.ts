import { dirname } from 'node:path';
import { isUnified, weightOf } from '../../bench/kubernetes/pods.js';
import type {
  ContainerEngineListener,
  ContainerInfo,
} from '../../openwhisk-plugin/host/ports/index.js';
import { type KernelLimits, kernelLimits } from '../kubernetes/kernel.js';
import { groupOf, oomKills } from './cgroups.js';
import { MICROS_PER_MILLICORE, type Reading, type UserLimits } from './reverts.js';

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
  /** What kubelet sets: no reading, because Gleaner may have written first. */
  readonly own: { readonly ofPod: KernelLimits; readonly ofContainer: KernelLimits };
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
    const { shares, quota } = info.user;
    const user = { shares, quota, podQuota: info.pod?.user.quota ?? 0 };
    const ended = { ended: false, oomKills: 0 };
    this.containers.set(info.id, { info, group, podGroup, user, ...ended, now, own: ownOf(info) });
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

function ownOf({ user, pod }: ContainerInfo): SeenContainer['own'] {
  const limits = ({ shares, quota, memory }: typeof user): KernelLimits => ({
    weight: isUnified ? weightOf(shares) : shares,
    quota: quota === 0 ? -1 : quota * MICROS_PER_MILLICORE,
    memory,
  });
  return { ofPod: limits(pod?.user ?? user), ofContainer: limits(user) };
}
