import type { Clock, Micros, Millis } from '../../config/index.js';
import { Activation, type ManagedContainer } from './container.js';
import type { EndReason } from './ended-activation.js';
import type { Revision } from './function-record.js';

/** Wall and monotonic clock may differ by this during one activation; beyond, the clock was set. */
const CLOCK_TOLERANCE_MICROS = 5_000;
/** After its deadline OpenWhisk removes the container; one second later the end was missed. */
const DEADLINE_GRACE_MILLIS = 1_000;
/** Longest run if the head has no usable deadline. OpenWhisk's default maximum is 5 min. */
const NO_DEADLINE_MILLIS = 3_600_000;

/**
 * A start that reaches the controller later than this gets no limits: it has run for half a CFS
 * period already.
 */
const LATE_MICROS = 50_000;

/** What the tracker reads of a `/run` request. */
export interface RunHead {
  readonly connection: number;
  /** Kernel's stamp of the head. */
  readonly at: Micros;
  /** Bytes of the body, -1 = unknown. */
  readonly contentLength: number;
}

/** What `/run` says about its activation before the user's parameters. */
export interface RunIdentity {
  readonly activationId: string;
  /** Wall clock, us. */
  readonly deadline: Micros;
}

export interface ActivationListener<C extends ManagedContainer<C>> {
  /** `running` of the container already counts it. */
  onRequest(activation: Activation<C>, now: Millis): void;
  /** Once per activation; `running` no longer counts it. It is reused when this returns. */
  onEnd(activation: Activation<C>, now: Millis): void;
}

/**
 * Follows each activation from its head to exactly one end.
 *
 * A head on the same connection ends the activation before it: HTTP/1.1 answers one request at a
 * time, so its answer was missed. A head on another connection ends nothing: with a concurrency
 * limit above 1 it is the normal case, and with a limit of 1 the connection whose answer was missed
 * closes, or lost packets are reported, or the deadline passes.
 */
export class ActivationTracker<C extends ManagedContainer<C>> {
  readonly #clock: Clock;
  readonly #listener: ActivationListener<C>;
  readonly #byConnection = new Map<number, Activation<C>>();
  readonly #pool: Activation<C>[] = [];

  /** `clock`: the one of the kernel's stamps. */
  constructor(clock: Clock, listener: ActivationListener<C>) {
    this.#clock = clock;
    this.#listener = listener;
  }

  get running(): number {
    return this.#byConnection.size;
  }

  begin(container: C, revision: Revision, identity: RunIdentity, head: RunHead): void {
    this.nextHead(head.connection);
    const activation = this.#pool.pop() ?? new Activation<C>();
    const now = this.#clock.monotonic();
    activation.begin(container, revision, head.contentLength);
    this.#open(activation, identity, head, this.#clock.wall(), now);
    container.enter(activation);
    this.#byConnection.set(head.connection, activation);
    this.#listener.onRequest(activation, now);
  }

  /** A request head, readable or not: the activation on this connection has ended. */
  nextHead(connection: number): void {
    const previous = this.#byConnection.get(connection);
    if (previous !== undefined) this.#end(previous, 'next_head', 0, null);
  }

  /** The answer's head. False if no activation of this connection was open. */
  answer(connection: number, status: number, at: Micros): boolean {
    const activation = this.#byConnection.get(connection);
    if (activation === undefined) return false;
    this.#end(activation, 'answer', status, at);
    return true;
  }

  /** FIN or RST from the container. After the answer it means nothing. */
  closed(connection: number, reset: boolean, at: Micros): void {
    const activation = this.#byConnection.get(connection);
    if (activation !== undefined) this.#end(activation, reset ? 'reset' : 'closed', 0, at);
  }

  /** Ends all activations of a container: it died, packets were lost, or the daemon stops. */
  endContainer(container: C, reason: EndReason): void {
    while (container.newest !== null) this.#end(container.newest, reason, 0, null);
  }

  /** The wall clock was set: kernel stamps before and after cannot be compared. */
  clockStepped(): void {
    for (const activation of this.#byConnection.values()) activation.stepped = true;
  }

  /** Ends activations that are a second past their deadline; call it regularly. */
  expire(now: Millis): void {
    for (const activation of this.#byConnection.values()) {
      if (activation.expires <= now) this.#end(activation, 'deadline', 0, null);
    }
  }

  #open(
    activation: Activation<C>,
    identity: RunIdentity,
    head: RunHead,
    wall: Micros,
    now: Millis,
  ): void {
    const { container } = activation;
    activation.id = identity.activationId;
    activation.connection = head.connection;
    activation.startedAt = head.at;
    activation.startedMonotonic = now;
    activation.startedWall = wall;
    // A deadline in the past or far away comes from a clock that was set meanwhile: ignore it. One
    // that is only too near ends the activation early, which restores the user's limits.
    const left = (identity.deadline - wall) / 1000;
    const limit = left > 0 ? Math.min(left, NO_DEADLINE_MILLIS) : NO_DEADLINE_MILLIS;
    activation.expires = (now + limit + DEADLINE_GRACE_MILLIS) as Millis;
    activation.pausedBefore = container.pausedUntil(now);
    activation.late = Math.abs(wall - head.at) > LATE_MICROS;
    // An `/init` comes before the first `/run`, also in a prewarmed container that was found.
    const isNew = !container.adopted || container.initMicros > 0;
    activation.cold = container.activations === 0 && isNew;
    activation.initMicros = container.initMicros;
    container.initMicros = 0 as Micros;
  }

  #end(activation: Activation<C>, reason: EndReason, status: number, at: Micros | null): void {
    this.#byConnection.delete(activation.connection);
    activation.container.leave(activation);
    const now = this.#clock.monotonic();
    this.#close(activation, at, this.#clock.wall(), now);
    activation.reason = reason;
    activation.status = status;
    activation.clean &&= reason === 'answer';
    this.#listener.onEnd(activation, now);
    this.#pool.push(activation);
  }

  /** `at`: the kernel's stamp of the end, null if only the host's own clock knows it. */
  #close(activation: Activation<C>, at: Micros | null, wall: Micros, now: Millis): void {
    const { startedAt, startedMonotonic, startedWall, pausedBefore, container } = activation;
    const elapsed = (now - startedMonotonic) * 1000;
    const paused = (container.pausedUntil(now) - pausedBefore) * 1000;
    activation.stepped ||= Math.abs(wall - startedWall - elapsed) > CLOCK_TOLERANCE_MICROS;
    const isStamped = !activation.stepped && at !== null && at >= startedAt;
    activation.duration = Math.max(0, (isStamped ? at - startedAt : elapsed) - paused) as Micros;
    activation.clean = isStamped;
  }
}
