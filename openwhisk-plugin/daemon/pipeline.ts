import { DurationHistogram, type Micros } from '../../config/index.js';
import {
  ActivationTracker,
  type EndedActivation,
  type HostController,
  type Revision,
} from '../control/index.js';
import { Run } from '../decision/index.js';
import type {
  Bridge,
  Identity,
  LossReason,
  TapAnomaly,
  TapListener,
  TapRequest,
} from '../host/ports/index.js';
import type { Container } from './containers.js';
import { LagRing } from './counters.js';
import { FailedInits } from './failed-inits.js';
import type { HookParts } from './hook-parts.js';
import { TapState } from './tap-state.js';

/**
 * From packets to the controller's events: which container and which activation a packet is about.
 * Everything runs inside the tap's call: no promise, no text, no waiting.
 */
export class Pipeline implements TapListener {
  readonly controller: HostController<Container>;
  readonly tracker: ActivationTracker<Container>;
  readonly lags = new LagRing();
  readonly lag = new DurationHistogram();
  readonly failedInits = new FailedInits();
  readonly tap = new TapState();
  readonly #parts: HookParts;
  readonly #mayBoost: () => boolean;

  /** `mayBoost`: cold-start boosts are configured, and limits may be written. */
  constructor(parts: HookParts, controller: HostController<Container>, mayBoost: () => boolean) {
    this.#parts = parts;
    this.controller = controller;
    this.#mayBoost = mayBoost;
    this.tracker = new ActivationTracker(parts.steady, controller);
  }

  /** Once per container, before it gets its address. */
  containerAdded(container: Container): void {
    container.tapped = this.tap.listens(container.info.bridge);
    this.controller.containerStarted(container);
  }

  containerRemoved(container: Container): void {
    this.controller.containerEnded(container);
    // Without an answer within the time limit OpenWhisk removes the container and sends no `/run`.
    if (container.initPending) {
      container.initMicros = Math.max(0, this.#parts.steady.wall() - container.initAt) as Micros;
      this.#initFailed(container, 0);
    }
  }

  request(request: TapRequest): void {
    const { counters, containers } = this.#parts;
    const container = containers.at(request.address);
    // After a change of user limits the tap reports again what is under way.
    if (!container?.limitsChanged) counters.requests++;
    if (container === undefined) {
      counters.unknownContainer++;
      return;
    }
    if (request.kind === 'init') {
      container.initConnection = request.connection;
      container.initAt = request.at;
      container.initPending = true;
      container.initIdentity = request.identity;
      container.initName = request.initName ?? null;
      this.beginBoost(container);
      return;
    }
    if (request.kind !== 'run') return;
    container.initPending = false;
    const revision = request.identity === null ? null : this.#identify(container, request.identity);
    if (revision === null || request.identity === null) {
      if (request.identity === null) counters.unreadableHead++;
      else counters.unknownFunction++;
      this.tracker.nextHead(request.connection);
      this.controller.onUnreadRequest(container, this.#parts.clock.monotonic());
      return;
    }
    this.tracker.begin(container, revision, request.identity, request);
    if (container.ended || container.limitsChanged) return;
    const lag = this.#parts.steady.wall() - request.at;
    this.lags.add(lag);
    this.lag.add(lag);
  }

  answer(connection: number, address: number, status: number, at: Micros): void {
    const { counters, containers } = this.#parts;
    counters.answers++;
    const container = containers.at(address);
    if (container !== undefined && container.initConnection === connection) {
      container.initConnection = -1;
      container.initMicros = Math.max(0, at - container.initAt) as Micros;
      this.controller.endBoost(container, 'init_answered');
      if (status >= 200 && status < 300) container.initPending = false;
      else this.#initFailed(container, status);
      return;
    }
    this.tracker.answer(connection, status, at);
  }

  closed(connection: number, address: number, reset: boolean, at: Micros): void {
    const container = this.#parts.containers.at(address);
    if (container !== undefined && container.initConnection === connection)
      container.initConnection = -1;
    this.tracker.closed(connection, reset, at);
  }

  listening(bridge: string | null): void {
    const { containers, logger } = this.#parts;
    const recovered = this.tap.listening(bridge);
    for (const container of containers.values())
      container.tapped = this.tap.listens(container.info.bridge);
    this.controller.weights.scale();
    if (recovered)
      logger.info({ bridge }, 'the tap listens again: activations that start now get decisions');
  }

  /** Restores the user limits of every affected container, unless only closes were missed. */
  lost(reason: LossReason, bridge: string | null, detail: string): void {
    const { counters, containers, log, clock } = this.#parts;
    if (reason === 'restarted') counters.tapRestarts++;
    else if (reason === 'dropped') counters.tapDrops++;
    else if (reason === 'closes') counters.tapCloses++;
    else counters.tapUnavailable++;
    if (reason === 'closes') {
      const message = 'the tap missed ends of connections: their activations end by the deadline';
      log.warn('tap_closes', clock.monotonic(), { bridge, detail }, message);
      return;
    }
    this.tap.lost(bridge, detail, clock.wall());
    const restored = this.#untap(
      [...containers.values()].filter(({ info }) => bridge === null || info.bridge === bridge),
      'tap_lost',
    );
    const message = 'tap lost: user limits are in force until it listens again';
    log.warn(`tap_${reason}`, clock.monotonic(), { bridge, detail, restored }, message);
  }

  counted(interfaceDrops: number, ignored: number): void {
    const { counters } = this.#parts;
    counters.tapInterfaceDrops += interfaceDrops;
    counters.tapCountersIgnored += ignored;
  }

  /** Notes the bridges that the tap will listen on. Call it before `Tap.watch`. */
  watching(bridges: readonly Bridge[]): void {
    const { containers, clock } = this.#parts;
    const gone = this.tap.watching(
      bridges.map(({ interfaceName }) => interfaceName),
      clock.wall(),
    );
    if (gone.length === 0) return;
    const theirs = [...containers.values()].filter(
      ({ info }) => info.bridge !== null && gone.includes(info.bridge),
    );
    this.#untap(theirs, 'bridge_gone');
  }

  anomaly(kind: TapAnomaly, _address: number): void {
    const { anomalies } = this.#parts.counters;
    anomalies[kind] = (anomalies[kind] ?? 0) + 1;
    if (kind === 'clock_step') this.tracker.clockStepped();
  }

  /** Boosts the cold start of a container for which an activation waits. */
  beginBoost(container: Container): void {
    if (container.role === 'system' || !this.#mayBoost()) return;
    this.controller.beginBoost(container, this.#parts.clock.monotonic());
  }

  /** Restores the container's user limits. */
  restore(container: Container, who: string, why: string): void {
    this.controller.restore(container, who, why, this.#parts.clock.monotonic());
  }

  /** Restores user limits before it ends the activations. Returns how many had other limits. */
  #untap(containers: readonly Container[], why: string): number {
    for (const container of containers) {
      container.initConnection = -1;
      container.initPending = false;
    }
    const restored = this.controller.onTapLost(containers, why, this.#parts.clock.monotonic());
    for (const container of containers) {
      this.tracker.endContainer(container, 'tap_lost');
      // What unseen activations use counts for none.
      container.cpuCounter = -1;
    }
    return restored;
  }

  /** An activation whose `/init` fails gets no `/run`. `status`: 0 without an answer. */
  #initFailed(container: Container, status: number): void {
    const { counters, clock } = this.#parts;
    const { initIdentity: identity, initName, initAt } = container;
    container.initPending = false;
    container.initIdentity = null;
    container.initName = null;
    container.initFailed = true;
    counters.started++;
    const revision = identity === null ? null : this.#identify(container, identity);
    if (identity === null || revision === null) {
      counters.ended++;
      counters.initFailed++;
      if (identity === null) counters.unreadableHead++;
      else counters.unknownFunction++;
      if (initName !== null) this.failedInits.add(container.info.name, initName, status, initAt);
      return;
    }
    const ended: EndedActivation = {
      id: identity.activationId,
      run: new Run(revision.state, container.state),
      revision,
      container,
      startedAt: initAt,
      duration: 0 as Micros,
      initMicros: container.initMicros,
      cold: true,
      reason: 'init_failed',
      status,
      clean: false,
      stepped: false,
      limitsChanged: false,
    };
    container.initMicros = 0 as Micros;
    this.controller.onInitFailed(ended, revision.fn, clock.monotonic());
  }

  #identify(container: Container, { action, version }: Identity): Revision | null {
    return this.controller.identify(container, action, version, this.#parts.clock.monotonic());
  }
}
