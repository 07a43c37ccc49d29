import {
  type Bytes,
  type Cancel,
  type Millis,
  millis,
  StepTimes,
  type Timers,
} from '../../config/index.js';
import { FREE_LATE_CPU } from '../decision/index.js';
import { findDrift, QUOTA_ROUNDING } from '../host/cgroup/index.js';
import { emptyLimits } from '../host/ports/index.js';
import type { ContainerEventHandler } from './container-event-handler.js';
import { type Container, SLICES } from './containers.js';
import type { HookParts } from './hook-parts.js';
import type { Pipeline } from './pipeline.js';
import type { UsageReader } from './usage.js';

export interface SamplerParts {
  readonly parts: HookParts;
  readonly pipeline: Pipeline;
  readonly usage: UsageReader;
  readonly containerEvents: ContainerEventHandler;
  /** False while the kill switch is on. */
  readonly mayWrite: () => boolean;
  /** The whole host's memory in use. */
  readonly memoryInUse: () => Bytes;
  /** As {@link LimitWriter.siblingFactor}. */
  readonly siblingFactor: () => number;
  /** Called about once a second. */
  readonly heartbeat: () => void;
}

/** Steps of one tick, in this order. */
const SAMPLER_STEPS = ['expire', 'headroom', 'sample', 'drift'] as const;

/** Interval between readings of an idle container's memory: a host may have two thousand. */
const IDLE_MILLIS = 30_000;
/** Interval between readings of the host's memory, for loans. */
const HEADROOM_MILLIS = 1000;
/** Interval in which each container's limits are compared with the written ones. */
const DRIFT_MILLIS = 5000;
/** Interval between looks at the groups beside the containers. */
const SIBLINGS_MILLIS = 10_000;
const IDLE = { who: 'restore', why: 'idle', activation: null };

/** The periodic checks: usage (mid-run safeguard), drift, boosts and deadlines that are over. */
export class Sampler {
  /** Durations of the steps, for metrics. */
  readonly steps = new StepTimes(SAMPLER_STEPS);
  readonly #parts: HookParts;
  readonly #pipeline: Pipeline;
  readonly #with: SamplerParts;
  /** How often each running container is sampled. */
  #sampleMillis: number;
  readonly #limits = emptyLimits();
  #slice = 0;
  #headroomAt = Number.NEGATIVE_INFINITY;
  #siblingsAt = Number.NEGATIVE_INFINITY;
  #drift: IterableIterator<Container> = [].values();
  #pendingChecks = 0;
  #cancel: Cancel | null = null;

  constructor(parts: SamplerParts, sampleMillis: number) {
    this.#parts = parts.parts;
    this.#pipeline = parts.pipeline;
    this.#with = parts;
    this.#sampleMillis = sampleMillis;
  }

  /** Also with another interval, while it runs. */
  start(timers: Timers, sampleMillis = this.#sampleMillis): void {
    this.stop();
    this.#sampleMillis = sampleMillis;
    this.#cancel = timers.every(millis(sampleMillis / SLICES), () => this.tick());
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  tick(): void {
    const { containers, clock } = this.#parts;
    this.#slice = (this.#slice + 1) % SLICES;
    const now = clock.monotonic();
    this.steps.begin();
    if (this.#slice === 0) {
      this.#pipeline.tracker.expire(now);
      this.steps.ended('expire');
    }
    if (now - this.#headroomAt >= HEADROOM_MILLIS) {
      this.#updateHeadroom(now);
      this.steps.ended('headroom');
    }
    if (now - this.#siblingsAt >= SIBLINGS_MILLIS) {
      this.#siblingsAt = now;
      this.#pipeline.controller.weights.onSiblings(this.#with.siblingFactor());
    }
    for (const container of containers.inSlice(this.#slice)) {
      if (container.boosted && container.state.boostUntil <= now)
        this.#pipeline.controller.boostExpired(container, now);
      if (container.running > 0) this.#sample(container, now);
      else if (!container.boosted && this.#mayUnwatch(container, now))
        containers.unwatch(container);
    }
    this.steps.ended('sample');
    this.#checkDrift();
    this.steps.ended('drift');
  }

  #updateHeadroom(now: Millis): void {
    this.#headroomAt = now;
    const { containers, decider } = this.#parts;
    let used = 0;
    for (const container of containers.values()) used += container.sample.workingSet;
    decider.headroom.update(this.#with.memoryInUse(), used as Bytes);
    this.#with.heartbeat();
  }

  /** For a container with a raised weight that is known only some time after its last answer. */
  #mayUnwatch(container: Container, now: Millis): boolean {
    const { state, cpuCounter, cpuCounterAt } = container;
    if (cpuCounter < 0 || state.shares <= state.user.shares) return true;
    if (now - cpuCounterAt < this.#sampleMillis) return false;
    if (container.probe.cpu() - cpuCounter > FREE_LATE_CPU)
      this.#pipeline.controller.onLateWork(container);
    return true;
  }

  #sample(container: Container, now: Millis): void {
    const { sample } = container;
    const cpuBefore = sample.cpu;
    if (!container.probe.sample(sample)) {
      // The cgroup is gone; the engine's event follows and closes the container.
      this.#pipeline.tracker.endContainer(container, 'container_end');
      return;
    }
    if (sample.frozen !== container.paused)
      this.#with.containerEvents.setPaused(container, sample.frozen);
    if (container.running === 0 || container.revision === null) return;
    const { controller } = this.#pipeline;
    // Most activations wait most of the time, and what uses no CPU competes for none.
    // 0: it may be that its CPU time cannot be read.
    const hasRun = sample.cpu !== cpuBefore || sample.cpu === 0;
    if (hasRun) this.#with.usage.add(container, sample.cpu);
    // A child process was OOM-killed: the container's activations do not end cleanly.
    if (hasRun && controller.observe(container, sample, container.revision.fn, now))
      container.interruptLimits();
    // Also while paused, so that the window of CPU use excludes that time.
    for (let each = container.newest; each !== null; each = each.older) {
      const { startCpu } = each.run;
      controller.onSample(each, sample, now);
      if (hasRun && !container.paused && startCpu >= 0)
        controller.revise(each, (sample.cpu - startCpu) / 1000, now);
    }
  }

  /** Checks a share of the containers at each tick, and all of them within the interval. */
  #checkDrift(): void {
    const { containers } = this.#parts;
    this.#pendingChecks += (containers.size * this.#sampleMillis) / SLICES / DRIFT_MILLIS;
    while (this.#pendingChecks >= 1) {
      this.#pendingChecks--;
      let next = this.#drift.next();
      if (next.done) {
        this.#drift = containers.values();
        next = this.#drift.next();
      }
      if (!next.done) this.#compare(next.value);
    }
  }

  #compare(container: Container): void {
    if (container.running === 0) this.#sampleIdle(container);
    const { handle, revision } = container;
    if (container.ended || container.memoryBusy) return;
    if (!this.#with.mayWrite() || revision === null || !container.mayLimit) {
      this.#retryUserLimits(container);
      return;
    }
    const drift = findDrift(handle, this.#limits);
    if (drift === 'gone') return;
    if (drift === 'none') {
      this.#retryRestore(container, handle.expected.memory);
      return;
    }
    const { counters, events, applier } = this.#parts;
    counters.drift++;
    if (handle.swapHolds?.() === false) handle.repairSwap?.();
    applier.repair(container, this.#limits);
    events.push({
      kind: 'drift',
      function: revision.fn.action,
      container: container.info.id.slice(0, 64),
      reason: 'changed_outside',
    });
  }

  /**
   * Idle containers, which may be thousands: whether one resumes that only the freezer knows to be
   * paused, and their memory in use.
   */
  #sampleIdle(container: Container): void {
    const now = this.#parts.clock.monotonic();
    if (container.paused) {
      this.#sample(container, now);
      return;
    }
    if (now - Math.max(container.idleReadAt, container.cpuCounterAt) < IDLE_MILLIS) return;
    container.idleReadAt = now;
    container.sample.workingSet = Math.max(0, container.probe.workingSet()) as Bytes;
  }

  /** Retries restores that failed, such as a memory limit below the memory in use. */
  #retryUserLimits(container: Container): void {
    if (container.boosted || !this.#parts.applier.isChanged(container)) return;
    this.#pipeline.restore(container, 'restore', 'retry');
  }

  /** Retries, while the container is idle, a quota or memory limit that could not be restored. */
  #retryRestore(container: Container, memory: number): void {
    const { user } = container.info;
    if (container.running > 0) return;
    const { applier } = this.#parts;
    const quotaDiffers = Math.abs(container.handle.expected.quota - user.quota) > QUOTA_ROUNDING;
    if (quotaDiffers && !container.boosted) applier.setQuota(container, user.quota, IDLE);
    const own = user.memory + container.state.memoryLoan;
    if (user.memory > 0 && memory > own) applier.setMemory(container, own, IDLE);
  }
}
