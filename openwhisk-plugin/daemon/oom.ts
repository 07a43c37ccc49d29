import type { Bytes, Clock } from '../../config/index.js';
import type { Revision } from '../control/index.js';
import type { Decider } from '../decision/index.js';
import { NO_LIMIT } from '../decision/index.js';
import type { AuditLog } from './audit.js';
import type { Container } from './containers.js';
import type { Counters } from './counters.js';
import type { EventQueue } from './events.js';

/** Ended containers remembered, for OOM events that come after the end (field-notes A3-04). */
const REMEMBERED = 128;

/**
 * Attributes each OOM kill once: the kernel's counter and the engine's event tell of the same kill,
 * the event fires for a child too (A1-09), and either may come late or not at all. *Ours* is a kill
 * under a limit below the user's; any other is the user's.
 */
export class OomTracker {
  readonly #clock: Clock;
  readonly #decider: Decider;
  readonly #counters: Counters;
  readonly #audit: AuditLog;
  readonly #events: EventQueue;
  readonly #ended = new Map<string, Container>();

  constructor(
    clock: Clock,
    decider: Decider,
    counters: Counters,
    audit: AuditLog,
    events: EventQueue,
  ) {
    this.#clock = clock;
    this.#decider = decider;
    this.#counters = counters;
    this.#audit = audit;
    this.#events = events;
  }

  /** The kernel's counter as just read. True when it tells of a kill that was not known. */
  counted(container: Container, oomKills: number): boolean {
    if (oomKills <= container.oomKills) return false;
    container.oomKills = oomKills;
    return this.#attribute(container);
  }

  /** The engine's event, of a running or an ended container. */
  event(id: string, running: Container | undefined): boolean {
    const container = running ?? this.#ended.get(id);
    if (container === undefined) return false;
    container.oomEvents++;
    return this.#attribute(container);
  }

  remember(container: Container): void {
    this.#ended.set(container.info.id, container);
    if (this.#ended.size > REMEMBERED)
      this.#ended.delete(this.#ended.keys().next().value as string);
  }

  #attribute(container: Container): boolean {
    const known = Math.max(container.oomKills, container.oomEvents);
    if (known <= container.oomAttributed) return false;
    container.oomAttributed = known;
    const user = container.info.user.memory;
    const limit =
      container.running > 0 && !container.ended
        ? container.handle.expected.memory
        : container.memoryInForce;
    const harvest = limit !== NO_LIMIT && (user === NO_LIMIT || limit < user);
    if (harvest) this.#counters.oomHarvest++;
    else this.#counters.oomUser++;
    const { revision } = container;
    if (revision !== null) {
      revision.fn.step.oomKills++;
      this.#decider.oom(revision.state, limit as Bytes, this.#clock.monotonic());
    }
    this.#tell(container, revision, limit, user, harvest);
    return true;
  }

  #tell(
    container: Container,
    revision: Revision | null,
    limit: number,
    user: number,
    harvest: boolean,
  ): void {
    const why = harvest ? 'killed_under_a_lowered_limit' : 'killed_at_the_users_limit_or_above';
    const record = this.#audit.next(this.#clock.wall());
    record.who = 'kernel';
    record.why = why;
    record.resource = 'oom';
    record.container = container.info.id;
    record.containerName = container.info.name;
    record.action = revision?.fn.action ?? '';
    record.version = revision?.version ?? '';
    record.activation = container.newest?.id ?? '';
    record.old = limit;
    record.granted = user;
    record.result = harvest ? 'harvest' : 'user';
    this.#events.push({
      kind: 'oom',
      function: revision?.fn.action ?? null,
      resource: 'memory',
      container: container.info.id.slice(0, 64),
      before: limit,
      after: user,
      reason: why,
    });
  }
}
