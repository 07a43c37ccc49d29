import type { Bytes, Clock, Micros, Millis } from '../../config/index.js';
import type { EndedActivation, EndReason, Revision } from '../control/index.js';
import { Run } from '../decision/index.js';
import type { Identity } from '../host/ports/index.js';
import type { Container } from './containers.js';

/**
 * Wall and monotonic clock may differ by this over one activation; beyond, the clock was stepped.
 */
export const CLOCK_TOLERANCE_MICROS = 5_000;
/**
 * After the deadline OpenWhisk gives up and removes the container; one second more and the end was
 * missed.
 */
const DEADLINE_GRACE_MILLIS = 1_000;
/**
 * Longest run believed where the head names no deadline: OpenWhisk's default maximum is 5 min, and
 * operators raise it.
 */
const NO_DEADLINE_MILLIS = 3_600_000;

/** One activation, from a pool: valid from `activationStarted` until `activationEnded` returns. */
export class Activation implements EndedActivation {
  container!: Container;
  revision!: Revision;
  /** Decision and its accounting; made with the record and reused with it. */
  run!: Run;
  id = '';
  connection = -1;
  /** Kernel's stamp of the request's head, and of the answer's. */
  startedAt = 0 as Micros;
  endedAt = 0 as Micros;
  startedMonotonic = 0 as Millis;
  #startedWall = 0 as Micros;
  /** Monotonic time at which the end counts as missed. */
  expires = 0 as Millis;
  #pausedBefore = 0 as Millis;
  /** Reached the hook too late for a limit to be worth setting. */
  late = false;
  /** First activation of its container: `initMicros` belongs to it. */
  cold = false;
  initMicros = 0 as Micros;
  /** The wall clock was set during it: the monotonic clock counts, and nothing is learned. */
  stepped = false;
  /** Ran beside another in the same container at any moment: its peaks are not its own. */
  shared = false;
  /** Another one started in the same container, on another connection, before this one's answer. */
  overtaken = false;
  /** Container was paused at some moment of it. */
  wasPaused = false;
  /**
   * Limits in force when it started were taken away mid-run (kill switch, mode): it teaches
   * nothing.
   */
  limitsInterrupted = false;
  /** Throttled and all periods of the container's quota at the start; -1 unknown. */
  periodsBefore = -1;
  throttledBefore = -1;
  waitingBefore = -1;
  reason: EndReason = 'answer';
  status = 0;
  /** Run time without pauses, us. */
  duration = 0 as Micros;
  /** Ended by its answer, with both clocks agreeing: peaks and duration may be learned. */
  clean = false;
  older: Activation | null = null;

  /** @internal Used by the tracker only. */
  open(
    container: Container,
    revision: Revision,
    identity: Identity,
    connection: number,
    at: Micros,
    payload: number,
    clock: Clock,
    lateMicros: number,
  ): void {
    const wall = clock.wall();
    const now = clock.monotonic();
    this.container = container;
    this.revision = revision;
    if (this.run === undefined) this.run = new Run(revision.state, container.state);
    else this.run.reset(revision.state, container.state);
    this.run.payload = payload as Bytes;
    this.id = identity.activationId;
    this.connection = connection;
    this.startedAt = at;
    this.endedAt = 0 as Micros;
    this.startedMonotonic = now;
    this.#startedWall = wall;
    // A deadline that has passed before the start, or is far away, is by a clock that was set
    // meanwhile: no deadline. One that is only somewhat too near ends the activation too early,
    // which restores the user's limits and teaches nothing.
    const left = (identity.deadline - wall) / 1000;
    const limit = left > 0 ? Math.min(left, NO_DEADLINE_MILLIS) : NO_DEADLINE_MILLIS;
    this.expires = (now + limit + DEADLINE_GRACE_MILLIS) as Millis;
    this.stepped = false;
    this.#pausedBefore = container.pausedUntil(now);
    this.late = Math.abs(wall - at) > lateMicros;
    this.cold = container.activations === 0;
    this.initMicros = container.initMicros;
    container.initMicros = 0 as Micros;
    this.shared = container.running > 0;
    this.overtaken = false;
    this.wasPaused = container.paused;
    this.limitsInterrupted = false;
    this.periodsBefore = this.throttledBefore = this.waitingBefore = -1;
    this.reason = 'answer';
    this.status = 0;
    this.duration = 0 as Micros;
    this.clean = false;
  }

  /**
   * @internal `at` is the kernel's stamp of the end, or null where only the hook's own clock knows
   * it.
   */
  close(reason: EndReason, status: number, at: Micros | null, clock: Clock): void {
    const wall = clock.wall();
    const now = clock.monotonic();
    const elapsed = (now - this.startedMonotonic) * 1000;
    const paused = (this.container.pausedUntil(now) - this.#pausedBefore) * 1000;
    const stepped =
      this.stepped || Math.abs(wall - this.#startedWall - elapsed) > CLOCK_TOLERANCE_MICROS;
    this.stepped = stepped;
    const bracket = stepped || at === null || at < this.startedAt ? elapsed : at - this.startedAt;
    this.reason = reason;
    this.status = status;
    this.endedAt = at ?? wall;
    this.duration = Math.max(0, bracket - paused) as Micros;
    this.clean = reason === 'answer' && !stepped && at !== null && at >= this.startedAt;
  }
}

export interface ActivationListener {
  /** `running` of the container already counts it. */
  activationStarted(activation: Activation): void;
  /** Once per activation; `running` no longer counts it. The record is reused when this returns. */
  activationEnded(activation: Activation): void;
}

/**
 * Follows each activation from its head to exactly one end.
 *
 * A head on the *same* connection ends the activation before it: HTTP/1.1 answers one request at a
 * time, so its answer was missed. A head on *another* connection ends nothing. With a concurrency
 * limit above 1 it is the normal case, and with a limit of 1 the connection whose answer was missed
 * is seen to close, or the packets are reported as lost, or the deadline passes. (Taking it for the
 * end of the activation before cut the first overlapping activations of a function short: with 4 at
 * once, 3 of them.) An activation that is answered after another one started beside it proves that
 * its function runs concurrently.
 */
export class ActivationTracker {
  readonly #clock: Clock;
  readonly #listener: ActivationListener;
  readonly #byConnection = new Map<number, Activation>();
  readonly #pool: Activation[] = [];
  /** Starts that reach the hook later than this set no limit (design §2), us. */
  lateMicros = 50_000;

  constructor(clock: Clock, listener: ActivationListener) {
    this.#clock = clock;
    this.#listener = listener;
  }

  get running(): number {
    return this.#byConnection.size;
  }

  /** `payload`: bytes of the body, -1 = unknown. */
  begin(
    container: Container,
    revision: Revision,
    identity: Identity,
    connection: number,
    at: Micros,
    payload = -1,
  ): void {
    this.nextHead(connection);
    const activation = this.#pool.pop() ?? new Activation();
    activation.open(
      container,
      revision,
      identity,
      connection,
      at,
      payload,
      this.#clock,
      this.lateMicros,
    );
    for (let other = container.newest; other !== null; other = other.older) {
      other.shared = true;
      other.overtaken = true;
    }
    activation.older = container.newest;
    container.newest = activation;
    container.running++;
    container.activations++;
    this.#byConnection.set(connection, activation);
    this.#listener.activationStarted(activation);
  }

  /** A request head, readable or not: whatever ran on this connection has ended. */
  nextHead(connection: number): void {
    const previous = this.#byConnection.get(connection);
    if (previous !== undefined) this.#end(previous, 'next_head', 0, null);
  }

  /** The answer's head. False when no activation of this connection was open. */
  answer(connection: number, status: number, at: Micros): boolean {
    const activation = this.#byConnection.get(connection);
    if (activation === undefined) return false;
    if (activation.overtaken) activation.revision.concurrent = true;
    this.#end(activation, 'answer', status, at);
    return true;
  }

  /** FIN or RST from the container. After the answer it means nothing. */
  closed(connection: number, reset: boolean, at: Micros): void {
    const activation = this.#byConnection.get(connection);
    if (activation !== undefined) this.#end(activation, reset ? 'reset' : 'closed', 0, at);
  }

  /** Ends what a container still runs: it died, the tap missed something, or the hook stops. */
  endContainer(container: Container, reason: EndReason, at: Micros | null): void {
    this.#endAll(container, reason, at);
  }

  /** Marks what runs in a container as paused at some moment. */
  paused(container: Container): void {
    for (let each = container.newest; each !== null; each = each.older) each.wasPaused = true;
  }

  /** The wall clock was set: kernel stamps of what runs now cannot be compared with each other. */
  clockStepped(): void {
    for (const activation of this.#byConnection.values()) activation.stepped = true;
  }

  /** Ends what is a second past its deadline; called every so often. */
  expire(now: Millis): void {
    for (const activation of this.#byConnection.values()) {
      if (activation.expires <= now) this.#end(activation, 'deadline', 0, null);
    }
  }

  #endAll(container: Container, reason: EndReason, at: Micros | null): void {
    while (container.newest !== null) this.#end(container.newest, reason, 0, at);
  }

  #end(activation: Activation, reason: EndReason, status: number, at: Micros | null): void {
    this.#byConnection.delete(activation.connection);
    const { container } = activation;
    if (container.newest === activation) container.newest = activation.older;
    else {
      let newer = container.newest;
      while (newer !== null && newer.older !== activation) newer = newer.older;
      if (newer !== null) newer.older = activation.older;
    }
    activation.older = null;
    container.running--;
    activation.close(reason, status, at, this.#clock);
    this.#listener.activationEnded(activation);
    this.#pool.push(activation);
  }
}
