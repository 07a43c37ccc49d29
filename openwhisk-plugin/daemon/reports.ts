import type {
  Activation,
  EndedActivation,
  FunctionRecord,
  ReportPort,
  Revision,
} from '../control/index.js';
import type { SampleAction } from '../decision/index.js';
import type { Container } from './containers.js';
import { END_COUNTERS } from './counters.js';
import type { HookParts } from './hook-parts.js';
import type { PendingEvent } from './queues.js';
import { DecisionTally } from './tallies.js';

/** Cached author strings; one per policy and agent host. */
const AUTHORS_MAX = 256;

/** Turns the controller's reports into counters, events, audit records and explanations. */
export class HostReports implements ReportPort<Container> {
  readonly decisions = new DecisionTally();
  readonly #parts: HookParts;
  readonly stepped: (fn: FunctionRecord) => void;
  /** `policy:<name>` and `agent:<author>`, so that no activation builds a string. */
  readonly #authors = new Map<string, string>();

  /** `stepped`: the control step of a function has grown. */
  constructor(parts: HookParts, stepped: (fn: FunctionRecord) => void) {
    this.#parts = parts;
    this.stepped = stepped;
  }

  decided(activation: Activation<Container>): void {
    const { counters, containers } = this.#parts;
    const { container, run, revision } = activation;
    // The rest of one that was counted is none.
    if (!activation.limitsChanged) {
      counters.started++;
      if (activation.late) counters.late++;
      this.decisions.add(revision.fn.mode, run.cpu.reason);
    }
    containers.watch(container);
    activation.author = this.#authorOf(activation);
  }

  ended(activation: EndedActivation, fn: FunctionRecord): void {
    const { counters } = this.#parts;
    const { run, reason, duration, initMicros } = activation;
    counters.harvested += run.harvested;
    counters.accelerated += run.accelerated;
    counters.saved += run.saved;
    fn.harvested += run.harvested;
    fn.harvestedMemory += run.harvestedMemory;
    fn.accelerated += run.accelerated;
    fn.saved += run.saved;
    if (reason === 'limits_changed') return;
    counters.ended++;
    counters[END_COUNTERS[reason]]++;
    if (activation.stepped) counters.clockSteps++;
    fn.explanations.record(activation);
    if (reason === 'init_failed') return;
    if (activation.clean && !run.control && !activation.cold) fn.latency.record(duration / 1000);
    if (activation.cold) {
      fn.coldStarts++;
      fn.initMillis += initMicros / 1000;
    }
    this.#announce(activation, fn);
  }

  safeguarded({ container, revision }: Activation<Container>, action: SampleAction): void {
    this.#parts.counters.safeguards++;
    this.#push(container, {
      kind: 'safeguard',
      function: revision.fn.action,
      resource: action === 'restore_memory' ? 'memory' : 'cpu',
      reason: 'mid_run',
    });
  }

  boosted(container: Container): void {
    this.#parts.counters.boosts++;
    this.#parts.containers.watch(container);
  }

  lent(container: Container, revision: Revision, before: number, after: number): void {
    this.#parts.counters.loans++;
    this.#push(container, {
      kind: 'loan',
      function: revision.fn.action,
      resource: 'memory',
      before: container.user.memory + before,
      after: container.user.memory + after,
      reason: 'hit_user_limit',
    });
  }

  revoked(container: Container, revision: Revision): void {
    const { action } = revision.fn;
    this.#push(container, { kind: 'release', function: action, reason: 'loan_taken_back' });
  }

  lentLater(activation: Activation<Container>): void {
    this.#announce(activation, activation.revision.fn);
  }

  oomKilled(container: Container, limit: number, isHarvest: boolean): void {
    const { audit, clock, counters } = this.#parts;
    const user = container.user.memory;
    const why = isHarvest ? 'killed_under_a_lowered_limit' : 'killed_at_the_users_limit_or_above';
    if (isHarvest) counters.oomHarvest++;
    else counters.oomUser++;
    const { revision } = container;
    const record = audit.next(clock.wall());
    record.who = 'kernel';
    record.why = why;
    record.resource = 'oom';
    record.container = container.id;
    record.containerName = container.info.name;
    record.action = revision?.fn.action ?? '';
    record.version = revision?.version ?? '';
    record.activation = container.newest?.id ?? '';
    record.old = limit;
    record.granted = user;
    record.result = isHarvest ? 'harvest' : 'user';
    this.#push(container, {
      kind: 'oom',
      function: revision?.fn.action ?? null,
      resource: 'memory',
      before: limit,
      after: user,
      reason: why,
    });
  }

  /** Sends an event when harvesting or borrowing begins or ends, not at each activation. */
  #announce({ run }: EndedActivation, fn: FunctionRecord): void {
    const harvesting = run.enforced && (run.cpu.reduced || run.memory.reduced);
    const borrowing = run.enforced && (run.cpu.borrowed > 0 || run.memory.borrowed > 0);
    if (harvesting === fn.harvesting && borrowing === fn.borrowing) return;
    const begins = (harvesting && !fn.harvesting) || (borrowing && !fn.borrowing);
    const isLender = harvesting || fn.harvesting;
    fn.harvesting = harvesting;
    fn.borrowing = borrowing;
    const onCpu = run.cpu.reduced || run.cpu.borrowed > 0;
    // A release does not show its resource; CPU is the one that changes at each activation.
    const resource = !onCpu && (run.memory.reduced || run.memory.borrowed > 0) ? 'memory' : 'cpu';
    const grant = run[resource];
    this.#parts.events.push({
      kind: begins ? (borrowing ? 'loan' : 'harvest') : 'release',
      function: fn.action,
      resource,
      before: grant.user,
      after: grant.granted,
      reason: isLender ? grant.reason : grant.choice,
    });
  }

  #push(container: Container, event: PendingEvent): void {
    this.#parts.events.push({ ...event, container: container.id.slice(0, 64) });
  }

  #authorOf({ run, hasTarget, revision }: Activation<Container>): string {
    const policy = this.#parts.decider.policyName(run);
    if (policy === 'target' && !hasTarget) this.#parts.counters.noTarget++;
    const isAgent = hasTarget && policy === 'target';
    const key = isAgent ? revision.fn.target.author : policy;
    let author = this.#authors.get(key);
    if (author === undefined) {
      author = isAgent ? `agent:${key}` : `policy:${key}`;
      if (this.#authors.size > AUTHORS_MAX) this.#authors.clear();
      this.#authors.set(key, author);
    }
    return author;
  }
}
