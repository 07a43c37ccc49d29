import { LRUCache } from 'lru-cache';
import type { Bytes, GleanerError } from '../../config/index.js';
import type { EndReason } from '../control/index.js';
import { NO_LIMIT } from '../decision/index.js';
import { invokerOf, type ManagedFilter, managedByPrefix } from '../host/docker/index.js';
import {
  type Bridge,
  type ContainerEngineListener,
  type ContainerInfo,
  emptyLimits,
  type SkippedEvent,
  type Tap,
} from '../host/ports/index.js';
import type { Container } from './containers.js';
import type { HookParts } from './hook-parts.js';
import type { Pipeline } from './pipeline.js';

/** Containers that ended after one activation before a warm-reuse ratio of 0 is reported. */
const REUSE_SAMPLE = 20;

/** Ended containers remembered, because an OOM event may come after the container's end. */
const REMEMBERED = 128;

/** The engine's events: adopts, boosts and closes containers, follows pauses and OOM kills. */
export class ContainerEventHandler implements ContainerEngineListener {
  readonly #parts: HookParts;
  readonly #pipeline: Pipeline;
  readonly #tap: Tap;
  readonly #managed: ManagedFilter;
  readonly #invokers = new Map<string, number>();
  readonly #ended = new LRUCache<string, Container>({ max: REMEMBERED });
  #bridges: readonly Bridge[] = [];
  #live = false;
  #isListening = false;
  /** Number of containers that no invoker owns. */
  ignored = 0;
  isEngineReachable = true;

  constructor(parts: HookParts, pipeline: Pipeline, tap: Tap, containerPrefix: string) {
    this.#parts = parts;
    this.#pipeline = pipeline;
    this.#managed = managedByPrefix(containerPrefix);
    this.#tap = tap;
  }

  /** Containers that start from now on are new; earlier ones ran before the hook. */
  live(): void {
    this.#live = true;
  }

  /** The tap took addresses so far; it listens on the bridges from now on. */
  listen(): void {
    this.#isListening = true;
    this.#watchBridges();
  }

  containerStarted(info: ContainerInfo, isFound = false): void {
    this.#open(info, isFound);
  }

  /** User limits are fixed for a container's life here, so it is managed as another one. */
  containerUpdated(info: ContainerInfo): void {
    const before = this.#parts.containers.get(info.id);
    if (before !== undefined) {
      if (before.newest?.cold) before.initMicros = before.newest.initMicros;
      // The tap reports an open `/init` again, as it does a `/run`.
      before.initPending = false;
    }
    this.#close(info.id, 'limits_changed');
    this.#open(info, true, before);
  }

  containerEnded(id: string, isMissing = false): void {
    this.#close(id, 'container_end', isMissing);
  }

  /** `before`: the same container with its earlier user limits. */
  #open(info: ContainerInfo, isFound: boolean, before?: Container): void {
    // Pods were selected by their label.
    if (info.pod === undefined && !this.#managed(info.name)) {
      this.ignored++;
      return;
    }
    const { containers, applier, decider, log, clock } = this.#parts;
    const container = containers.add(info);
    if (container === null) {
      const message = 'a container cannot be managed: its cgroup cannot be opened';
      const fields = { container: info.id, name: info.name };
      log.warn('unmanaged_container', clock.monotonic(), fields, message);
      return;
    }
    const isNew = this.#live && !isFound;
    if (!isNew) {
      const isRead = container.probe.sample(container.sample);
      container.adopt(isRead ? container.sample : null);
    }
    if (before !== undefined) {
      container.initMicros = before.initMicros;
      container.isProtected = before.isProtected;
      container.wasBoosted = before.wasBoosted;
      container.limitsChanged = true;
    }
    this.#pipeline.containerAdded(container);
    this.#countInvoker(info, 1);
    if ((!isNew || info.pod !== undefined) && applier.isChanged(container)) {
      // Left behind by an earlier hook, or on the pod by its last container: the engine's output is
      // the source of truth for user limits.
      const loan = container.handle.expected.memory - info.user.memory;
      this.#pipeline.restore(container, 'restart', 'found_changed');
      // The loan may be in use, so it counts until the container ends.
      if (info.user.memory !== NO_LIMIT && loan > 0)
        decider.foundLoan(container.state, loan as Bytes);
    }
    // An activation waits for a container that starts; for a prewarmed one it waits from `/init`.
    if (isNew && container.role === 'action') {
      this.#parts.counters.actionContainers++;
      this.#pipeline.beginBoost(container);
    }
    // The tap reports requests that are under way within this call.
    containers.bind(container);
    container.limitsChanged = false;
  }

  #close(id: string, reason: EndReason, isMissing = false): void {
    const { containers, applier, limited } = this.#parts;
    const container = containers.get(id);
    if (container === undefined) {
      containers.remove(id);
      return;
    }
    container.ended = true;
    if (container.running === 0 && container.memoryInForce === 0) {
      container.memoryInForce = container.handle.expected.memory;
    }
    this.#pipeline.tracker.endContainer(container, reason);
    const isUpdate = reason === 'limits_changed';
    const wasChanged = applier.isChanged(container);
    // A pod keeps its limits, and its next container may start when no hook runs.
    if ((container.info.pod !== undefined || isMissing) && !isUpdate && wasChanged)
      this.#pipeline.restore(container, 'restart', reason);
    const isLeft = isMissing && this.#isThere(container, wasChanged);
    containers.remove(id);
    // One that still has a loan of memory is restored by the next start, if it runs then.
    if (!isUpdate && (!isLeft || !applier.isChanged(container))) limited.remove(id);
    this.#pipeline.containerRemoved(container);
    this.#ended.set(container.id, container);
    this.#countInvoker(container.info, -1);
    this.#countReuse(container, reason);
  }

  /** Whether a container that the engine no longer shows still has its cgroup. */
  #isThere(container: Container, wasChanged: boolean): boolean {
    const { id, info, handle } = container;
    // A pod's cgroup outlives its containers.
    if (info.pod !== undefined || !handle.read(emptyLimits())) return false;
    const { applier, log, clock } = this.#parts;
    let limits = 'it had its user limits';
    if (applier.isChanged(container))
      limits = 'user limits restored, but for a memory loan or a refused write';
    else if (wasChanged) limits = 'user limits restored';
    const message = `the engine no longer shows this container, but its cgroup exists: ${limits}`;
    log.warn('missing_container', clock.monotonic(), { container: id, name: info.name }, message);
    return true;
  }

  containerPaused(id: string, paused: boolean): void {
    const container = this.#parts.containers.get(id);
    if (container !== undefined) this.setPaused(container, paused);
  }

  /** Also called for the freezer's state, because `runc pause` is invisible to the engine. */
  setPaused(container: Container, paused: boolean): void {
    if (container.paused === paused) return;
    container.setPaused(paused, this.#parts.clock.monotonic());
  }

  containerOom(id: string): void {
    const container = this.#parts.containers.get(id) ?? this.#ended.get(id);
    if (container !== undefined)
      this.#pipeline.controller.onOomEvent(container, this.#parts.clock.monotonic());
  }

  containerUnreadable(id: string, { message: cause, code }: GleanerError): void {
    const { containers, log, clock } = this.#parts;
    const message = containers.get(id)
      ? `a container stays managed with the user limits known before: ${cause}`
      : `a container is not managed: ${cause}`;
    log.warn('unreadable_container', clock.monotonic(), { container: id, code }, message);
  }

  bridgesChanged(bridges: readonly Bridge[]): void {
    this.#bridges = bridges;
    if (this.#isListening) this.#watchBridges();
  }

  #watchBridges(): void {
    this.#pipeline.watching(this.#bridges);
    this.#tap.watch(this.#bridges);
  }

  reconciled(): void {
    const { logger, containers } = this.#parts;
    if (!this.isEngineReachable)
      logger.info({ containers: containers.size }, 'the container engine answers again');
    this.isEngineReachable = true;
  }

  eventSkipped(kind: SkippedEvent): void {
    const { counters, log, clock } = this.#parts;
    counters.eventsSkipped[kind]++;
    const message = 'event of the container engine skipped: it cannot be read';
    log.warn('engine_event_skipped', clock.monotonic(), { kind }, message);
  }

  engineDown(error: GleanerError): void {
    this.isEngineReachable = false;
    const { log, clock, counters } = this.#parts;
    counters.engineDown++;
    const message = `the container engine does not answer: ${error.message}`;
    log.warn('engine_down', clock.monotonic(), { code: error.code, hint: error.hint }, message);
  }

  /** The invoker's memory is estimated from its containers until the last of them ends. */
  #countInvoker(info: ContainerInfo, by: 1 | -1): void {
    const invoker = invokerOf(info.name);
    const count = (this.#invokers.get(invoker) ?? 0) + by;
    const { headroom } = this.#parts.decider;
    if (by === 1) headroom.seen(invoker, info.user);
    if (count > 0) this.#invokers.set(invoker, count);
    else if (this.#invokers.delete(invoker)) headroom.forget(invoker);
  }

  #countReuse(container: Container, reason: EndReason): void {
    const fn = container.revision?.fn;
    if (fn === undefined) return;
    fn.containers--;
    if (reason === 'limits_changed') return;
    // It was never warm, or perhaps before it was found: it says nothing about reuse.
    if (container.initFailed || (container.adopted && container.activations <= 1)) return;
    fn.ended++;
    if (container.activations === 1) fn.endedAfterOne++;
    if (fn.reuseWarned || fn.ended < REUSE_SAMPLE || fn.endedAfterOne < fn.ended) return;
    fn.reuseWarned = true;
    this.#parts.logger.warn(
      { function: fn.action, warm_reuse_ratio: 0, containers: fn.ended },
      'no container of this function was used twice: pausing may fail on this invoker',
    );
  }
}
