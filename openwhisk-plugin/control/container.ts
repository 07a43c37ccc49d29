import type { Bytes, Micros, Millis } from '../../config/index.js';
import { type ContainerState, Run, type UsageSample, type UserLimits } from '../decision/index.js';
import { ContainerDemand } from './demand.js';
import type { EndedActivation, EndReason } from './ended-activation.js';
import type { Revision } from './function-record.js';

/**
 * One container as the controller sees it. A host's own class extends it with how it reads and
 * limits the container; `Self` is that class.
 */
export class ManagedContainer<Self extends ManagedContainer<Self>> {
  /** The engine's identifier. */
  readonly id: string;
  readonly state: ContainerState;
  /** Null until the first `/run`: the name of a prewarmed container says nothing. */
  revision: Revision | null = null;
  /** Newest running activation; they are linked through `older`. */
  newest: Activation<Self> | null = null;
  running = 0;
  /** Activations since the container's start, or since it was found. */
  activations = 0;
  /** It was found running: unseen activations may have warmed it, and some been OOM-killed. */
  adopted = false;
  ended = false;
  /** Its activations can be seen. If not, user limits apply. */
  tapped = false;
  /** Limits other than the user's were written for an activation and are not reverted yet. */
  limited = false;
  /** The weight and quota of a cold-start boost are in force. */
  boosted = false;
  /** It was boosted before: a container starts only once. */
  wasBoosted = false;
  /** A request of it could not be read: something runs in it, perhaps of no known function. */
  unread = false;
  /** Newest memory limit requested, -1 before the first; a reduction takes effect later. */
  desiredMemory = -1;
  /** Memory limit during the last activation. */
  memoryInForce = 0;
  /** OOM kills by the kernel's counter, by the engine's events, and attributed ones. */
  oomKills = 0;
  /** The counter before the first of them, -1 = not read yet. */
  oomsBefore = 0;
  oomEvents = 0;
  oomAttributed = 0;
  /** Its user has just changed its limits: the requests that come at once are under way. */
  limitsChanged = false;
  /** How long `/init` took, until the first `/run` takes it over. */
  initMicros = 0 as Micros;
  /** As counted in the sums of its function and host. */
  readonly demand = new ContainerDemand();
  /** Counters of the last sample, for differences; -1 = not read yet. */
  periods = 0;
  throttledPeriods = 0;
  waiting = -1;
  /** Paused time is not run time. */
  paused = false;
  #pausedAt = 0 as Millis;
  #pausedMillis = 0 as Millis;

  constructor(id: string, state: ContainerState) {
    this.id = id;
    this.state = state;
  }

  /** Begins another container with the same `state`, which is reset by itself. */
  reset(): void {
    this.revision = null;
    this.newest = null;
    this.running = 0;
    this.activations = 0;
    this.adopted = false;
    this.ended = false;
    this.tapped = false;
    this.limited = false;
    this.boosted = false;
    this.wasBoosted = false;
    this.unread = false;
    this.desiredMemory = -1;
    this.memoryInForce = 0;
    this.oomKills = 0;
    this.oomsBefore = 0;
    this.oomEvents = 0;
    this.oomAttributed = 0;
    this.limitsChanged = false;
    this.initMicros = 0 as Micros;
    this.demand.cpu = 0;
    this.demand.memory = 0;
    this.periods = 0;
    this.throttledPeriods = 0;
    this.waiting = -1;
    this.paused = false;
    this.#pausedAt = 0 as Millis;
    this.#pausedMillis = 0 as Millis;
  }

  /**
   * The container was found running. The kernel's counters begin with `found`, or with the first
   * sample where they could not be read.
   */
  adopt(found: UsageSample | null): void {
    this.adopted = true;
    this.periods = found?.periods ?? -1;
    this.throttledPeriods = found?.throttledPeriods ?? 0;
    this.oomsBefore = found?.oomKills ?? -1;
  }

  get user(): UserLimits {
    return this.state.user;
  }

  setPaused(paused: boolean, now: Millis): void {
    if (paused) this.#pausedAt = now;
    else this.#pausedMillis = this.pausedUntil(now);
    this.paused = paused;
  }

  /** Total paused time until `now`. */
  pausedUntil(now: Millis): Millis {
    return (this.#pausedMillis + (this.paused ? now - this.#pausedAt : 0)) as Millis;
  }

  /** An activation starts in it. Each of several may have caused the container's peaks. */
  enter(activation: Activation<Self>): void {
    activation.shared = this.running > 0;
    activation.overtaken = false;
    for (let other = this.newest; other !== null; other = other.older) {
      other.shared = true;
      other.overtaken = true;
    }
    activation.older = this.newest;
    this.newest = activation;
    this.running++;
    this.activations++;
  }

  leave(activation: Activation<Self>): void {
    if (this.newest === activation) this.newest = activation.older;
    else {
      let newer = this.newest;
      while (newer !== null && newer.older !== activation) newer = newer.older;
      if (newer !== null) newer.older = activation.older;
    }
    activation.older = null;
    this.running--;
  }

  /** Whether limits other than the user's may be in force. */
  get mayLimit(): boolean {
    return this.tapped && this.revision?.fn.enforced === true;
  }

  /** What runs in it is unknown, so that no activation has set its weight. */
  get hasUnknownWork(): boolean {
    return this.unread && this.mayLimit && this.running === 0;
  }

  /** What runs in it, or may run unseen, has its user's weight. */
  get keepsOwnWeight(): boolean {
    return !this.mayLimit && (this.revision !== null || this.unread || !this.tapped);
  }

  /** Its running activations continue, but are not used for learning. */
  interruptLimits(): void {
    for (let each = this.newest; each !== null; each = each.older) each.limitsInterrupted = true;
  }
}

/**
 * One activation, from its request to its end. Reused: valid until {@link HostController.onEnd}
 * returns.
 */
export class Activation<C extends ManagedContainer<C>> implements EndedActivation {
  container!: C;
  revision!: Revision;
  /** The decision and its accounting; created once and reused. */
  run!: Run;
  id = '';
  /** Author of the decision, for the audit log: a policy or an agent. */
  author = '';
  /** A fresh target of the function's agent was there. */
  hasTarget = false;
  /** Reached the host too late for a limit to be useful. */
  late = false;
  /** First activation of its container: `initMicros` belongs to it. */
  cold = false;
  initMicros = 0 as Micros;
  /** Another activation ran in the same container: its peaks are not its own. */
  shared = false;
  /** Another one started in the container, on another connection, before this one's answer. */
  overtaken = false;
  /** Its limits were restored or changed while it ran: not used for learning. */
  limitsInterrupted = false;
  limitsChanged = false;
  /** The wall clock was set while it ran: the monotonic clock counts. */
  stepped = false;
  startedAt = 0 as Micros;
  reason: EndReason = 'answer';
  status = 0;
  duration = 0 as Micros;
  /** Ended by its answer, with both clocks agreeing: it is used for learning. */
  clean = false;
  older: Activation<C> | null = null;
  /** What the tracker needs to find its end. */
  connection = -1;
  startedMonotonic = 0 as Millis;
  startedWall = 0 as Micros;
  /** Monotonic time at which the end counts as missed. */
  expires = Number.POSITIVE_INFINITY as Millis;
  pausedBefore = 0 as Millis;

  /** `payload`: bytes of the request's body, -1 = unknown. */
  begin(container: C, revision: Revision, payload: number): void {
    this.container = container;
    this.revision = revision;
    if (this.run === undefined) this.run = new Run(revision.state, container.state);
    else this.run.reset(revision.state, container.state);
    this.run.payload = payload as Bytes;
    this.hasTarget = false;
    this.late = false;
    this.run.isRest = container.limitsChanged;
    this.limitsChanged = this.limitsInterrupted = container.limitsChanged;
    this.stepped = false;
    this.reason = 'answer';
    this.status = 0;
    this.duration = 0 as Micros;
    this.clean = false;
  }
}
