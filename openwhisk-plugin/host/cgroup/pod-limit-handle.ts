import type { Bytes, Millicores } from '../../../config/index.js';
import { type Limits, NO_LIMIT, type WeightRange, type WriteResult } from '../../decision/index.js';
import { type ContainerInfo, emptyLimits, type LimitHandle } from '../ports/index.js';

/** From worst to best: of two writes the worse result counts. */
const RESULTS: readonly WriteResult[] = [
  'gone',
  'refused',
  'not_effective',
  'unsupported',
  'written',
  'unchanged',
];

/**
 * The limits of a container in a Kubernetes pod. Between pods only the pod's weight decides, so
 * that is written. A quota is the container's; the pod's follows it upwards, because a group above
 * with a lower one would win (v2) or refuse the write (v1). Memory is never raised above the user's
 * limit: the scheduler may place pods in what looks free.
 */
export class PodLimitHandle implements LimitHandle {
  readonly #user: ContainerInfo['user'];
  readonly #podUser: ContainerInfo['user'];
  readonly #container: Required<LimitHandle>;
  readonly #pod: Required<LimitHandle>;
  readonly #expected = emptyLimits();
  readonly #read = emptyLimits();

  constructor(
    user: ContainerInfo['user'],
    podUser: ContainerInfo['user'],
    container: Required<LimitHandle>,
    pod: Required<LimitHandle>,
  ) {
    this.#user = user;
    this.#podUser = podUser;
    this.#container = container;
    this.#pod = pod;
  }

  get expected(): Readonly<Limits> {
    const { quota, memory } = this.#container.expected;
    this.#expected.shares = this.#pod.expected.shares;
    this.#expected.quota = quota;
    this.#expected.memory = memory;
    return this.#expected;
  }

  setShares(shares: number): WriteResult {
    return this.#pod.setShares(shares);
  }

  weightRange(): WeightRange {
    return this.#pod.weightRange();
  }

  setQuota(quota: Millicores): WriteResult {
    const ofPod = this.#podQuota(quota);
    const before = this.#pod.expected.quota;
    // Raised from above, lowered from below: at no time is the container's above the pod's.
    if (exceeds(ofPod, before)) {
      const raised = this.#pod.setQuota(ofPod);
      return isInForce(raised) ? worse(raised, this.#container.setQuota(quota)) : raised;
    }
    const lowered = this.#container.setQuota(quota);
    const result = this.#pod.setQuota(ofPod);
    // Another program had lowered the pod's, and with it what its container could get.
    if (result === 'written' && ofPod === before)
      return worse(result, this.#container.setQuota(quota));
    return worse(lowered, result);
  }

  raiseMemory(limit: Bytes): WriteResult {
    return exceeds(limit, this.#user.memory) ? 'refused' : this.#container.raiseMemory(limit);
  }

  memoryCeiling(): Bytes {
    const { memory } = this.#user;
    return memory === NO_LIMIT ? (Number.POSITIVE_INFINITY as Bytes) : memory;
  }

  lowerMemory(limit: Bytes): Promise<WriteResult> {
    return this.#container.lowerMemory(limit);
  }

  protectMemory(amount: Bytes): WriteResult {
    return this.#container.protectMemory(amount);
  }

  /** What is in force: a lower limit of the pod counts. */
  read(into: Limits): boolean {
    if (!this.#container.read(into) || !this.#pod.read(this.#read)) return false;
    const { shares, quota, memory } = this.#read;
    into.shares = shares;
    if (exceeds(into.quota, quota)) into.quota = quota;
    if (exceeds(into.memory, memory)) into.memory = memory;
    return true;
  }

  swapHolds(): boolean {
    return this.#container.swapHolds();
  }

  repairSwap(): WriteResult {
    return this.#container.repairSwap();
  }

  isSettling(): boolean {
    return this.#container.isSettling();
  }

  close(): void {
    this.#container.close();
    this.#pod.close();
  }

  /** The user's, and what the container got above its own. */
  #podQuota(quota: Millicores): Millicores {
    const { quota: own } = this.#podUser;
    if (own === NO_LIMIT || quota === NO_LIMIT) return NO_LIMIT as Millicores;
    return (own + Math.max(0, quota - this.#user.quota)) as Millicores;
  }
}

const exceeds = (limit: number, other: number): boolean =>
  other !== NO_LIMIT && (limit === NO_LIMIT || limit > other);

const isInForce = (result: WriteResult): boolean => result === 'written' || result === 'unchanged';

const worse = (one: WriteResult, other: WriteResult): WriteResult =>
  RESULTS.indexOf(one) < RESULTS.indexOf(other) ? one : other;
