import type { RateLimitedLog } from '../../broker/index.js';
import type { Bytes, Clock, Millicores, Millis } from '../../config/index.js';
import type { Activation, LimitChange, LimitPort } from '../control/index.js';
import {
  type Grant,
  type Limits,
  NO_LIMIT,
  sharesRange,
  type WeightRange,
  type WriteResult,
} from '../decision/index.js';
import { differsFromUser } from '../host/cgroup/index.js';
import type { AuditLog, AuditRecord, AuditResource } from './audit.js';
import type { Container } from './containers.js';
import type { Counters } from './counters.js';
import type { LimitedContainers } from './limited-containers.js';
import { type LimitResource, LimitTally } from './tallies.js';

/** True if limit `a` allows more than `b`; {@link NO_LIMIT} allows the most. */
function above(a: number, b: number): boolean {
  if (b === NO_LIMIT) return false;
  return a === NO_LIMIT || a > b;
}

type Change = LimitChange<Container>;

/** One write, for the audit record. */
interface Written {
  readonly resource: LimitResource;
  readonly old: number;
  readonly value: number;
  readonly readBack: number;
  readonly result: WriteResult;
  /** Monotonic ms before the write. */
  readonly before: number;
}

const RESULT_COUNTERS = {
  written: 'limitsWritten',
  unchanged: 'limitsUnchanged',
  gone: 'limitsGone',
  refused: 'limitsRefused',
  not_effective: 'limitsNotEffective',
  unsupported: 'limitsUnsupported',
} as const satisfies Record<WriteResult, keyof Counters>;

const DRIFT: Change = { who: 'drift', why: 'changed_outside', activation: null };

/**
 * The only place where limits are written: the newest limit of a container wins, and each change
 * has an audit record. Only memory reductions are asynchronous: the kernel may have to reclaim.
 */
export class LimitApplier implements LimitPort<Container> {
  readonly #clock: Clock;
  readonly #audit: AuditLog;
  readonly #counters: Counters;
  readonly #log: RateLimitedLog;
  readonly #limited: LimitedContainers;
  readonly #pending = new Set<Promise<void>>();
  readonly tally = new LimitTally();
  #memoryRefused: (container: Container, now: Millis) => void = () => undefined;

  constructor(
    clock: Clock,
    audit: AuditLog,
    counters: Counters,
    log: RateLimitedLog,
    limited: LimitedContainers,
  ) {
    this.#clock = clock;
    this.#audit = audit;
    this.#counters = counters;
    this.#log = log;
    this.#limited = limited;
  }

  onMemoryRefused(listener: (container: Container, now: Millis) => void): void {
    this.#memoryRefused = listener;
  }

  setShares(container: Container, shares: number, change: Change): WriteResult {
    const { handle } = container;
    // The drift check finds a repeated weight that something else changed.
    if (change.activation !== null && shares === handle.expected.shares) return 'unchanged';
    const old = handle.expected.shares;
    const before = this.#clock.monotonic();
    const result = handle.setShares(shares);
    const readBack = handle.expected.shares;
    const resource = 'cpu.shares';
    return this.#done(
      container,
      { resource, old, value: shares, readBack, result, before },
      change,
    );
  }

  setQuota(container: Container, quota: number, change: Change): WriteResult {
    const { handle } = container;
    const old = handle.expected.quota;
    const before = this.#clock.monotonic();
    const result = handle.setQuota(quota as Millicores);
    const readBack = handle.expected.quota;
    const resource = 'cpu.quota';
    return this.#done(container, { resource, old, value: quota, readBack, result, before }, change);
  }

  /** A raise is in force on return; a reduction follows, unless a newer limit comes first. */
  setMemory(container: Container, limit: number, change: Change): void {
    const { handle } = container;
    container.desiredMemory = limit;
    if (limit === handle.expected.memory && !container.memoryBusy) return;
    if (!above(handle.expected.memory, limit)) this.#raise(container, limit, change);
    else if (!container.memoryBusy) this.#lower(container, change.who, change.why);
  }

  /** v2: `memory.low` keeps the user's memory from other containers' loans. Once per life. */
  protectMemory(container: Container): void {
    if (container.isProtected === null)
      container.isProtected = this.#protect(container, container.user.memory, 'enforced');
  }

  #protect(container: Container, amount: number, why: string): boolean {
    const before = this.#clock.monotonic();
    const result = container.handle.protectMemory(amount as Bytes);
    if (result === 'written') {
      const change = { who: 'lender', why, activation: null };
      const written = { resource: 'memory.low', old: -1, value: amount, readBack: amount } as const;
      this.#record(container, { ...written, result, before }, change);
    }
    return result === 'written' || result === 'unchanged';
  }

  /** Restores every user limit. Memory in use above it stays until it is free: no OOM kill. */
  restore(container: Container, change: Change): void {
    const { user } = container;
    this.setShares(container, user.shares, change);
    this.setQuota(container, user.quota, change);
    this.setMemory(container, user.memory, change);
    if (container.isProtected) this.#protect(container, 0, change.why);
    container.isProtected = null;
    this.#counters.restores++;
  }

  isChanged(container: Container): boolean {
    const { handle, user, isProtected } = container;
    return differsFromUser(handle.expected, user) || isProtected === true;
  }

  weightRange(container: Container): WeightRange {
    return container.handle.weightRange?.() ?? sharesRange(container.user.shares);
  }

  memoryInForce(container: Container): number {
    return container.handle.expected.memory;
  }

  memoryCeiling(container: Container): Bytes {
    return container.handle.memoryCeiling?.() ?? (Number.POSITIVE_INFINITY as Bytes);
  }

  /** Writes the expected limits again after something else has changed them to `found`. */
  repair(container: Container, found: Readonly<Limits>): void {
    const { handle } = container;
    const { shares, quota, memory } = handle.expected;
    const before = this.#clock.monotonic();
    const note = (resource: LimitResource, old: number, value: number, result: WriteResult) =>
      this.#record(container, { resource, old, value, readBack: value, result, before }, DRIFT);
    if (found.shares !== shares) note('cpu.shares', found.shares, shares, handle.setShares(shares));
    if (found.quota !== quota) note('cpu.quota', found.quota, quota, handle.setQuota(quota));
    if (found.memory === memory) return;
    container.desiredMemory = memory;
    if (above(memory, found.memory))
      note('memory', found.memory, memory, handle.raiseMemory(memory));
    else if (!container.memoryBusy) this.#lower(container, DRIFT.who, DRIFT.why, true);
  }

  /** Records what mode `enforce` would have written. */
  recommend(activation: Activation<Container>): void {
    const { container, run } = activation;
    const { shares, quota, memory } = container.handle.expected;
    if (container.state.mode === 'quota') this.#note(activation, 'cpu.quota', quota, run.quota);
    else this.#note(activation, 'cpu.shares', shares, run.shares);
    if (run.memoryLimit > 0) this.#note(activation, 'memory', memory, run.memoryLimit);
  }

  #note(
    activation: Activation<Container>,
    resource: AuditResource,
    old: number,
    value: number,
  ): void {
    if (old === value) return;
    const record = this.#audit.next(this.#clock.wall());
    const change = { who: activation.author, why: 'recommend', activation };
    this.#describe(record, activation.container, resource, change);
    record.old = old;
    record.new = value;
    record.result = 'recommended';
  }

  /** Resolves when no reduction is under way. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  #done(container: Container, written: Written, change: Change): WriteResult {
    if (written.result === 'unchanged') this.#counters[RESULT_COUNTERS.unchanged]++;
    else this.#record(container, written, change);
    return written.result;
  }

  #raise(container: Container, limit: number, change: Change): void {
    const { handle } = container;
    const old = handle.expected.memory;
    const before = this.#clock.monotonic();
    const result = handle.raiseMemory(limit as Bytes);
    const readBack = handle.expected.memory;
    const resource = 'memory';
    this.#done(container, { resource, old, value: limit, readBack, result, before }, change);
  }

  #lower(container: Container, who: string, why: string, again = false): void {
    container.memoryBusy = true;
    const work = this.#lowering(container, who, why, again)
      .catch((error: unknown) => {
        container.memoryBusy = false;
        const fields = { container: container.info.id, error: String(error) };
        const now = this.#clock.monotonic();
        this.#log.warn('memory_reduction', now, fields, 'a memory limit could not be lowered');
      })
      .finally(() => this.#pending.delete(work));
    this.#pending.add(work);
  }

  async #lowering(container: Container, who: string, why: string, again: boolean): Promise<void> {
    const { handle } = container;
    const change = { who, why, activation: null };
    while (!container.ended && (again || above(handle.expected.memory, container.desiredMemory))) {
      again = false;
      const value = container.desiredMemory;
      const before = this.#clock.monotonic();
      const old = handle.expected.memory;
      const result = await handle.lowerMemory(value as Bytes);
      const readBack = handle.expected.memory;
      const resource = 'memory';
      if (result !== 'unchanged')
        this.#record(container, { resource, old, value, readBack, result, before }, change);
      if (result === 'written') continue;
      // A newer limit that took its place is not a refusal.
      if (result !== 'gone' && above(handle.expected.memory, container.desiredMemory))
        this.#memoryRefused(container, this.#clock.monotonic());
      break;
    }
    // A newer limit came while the kernel was still reclaiming.
    if (!container.ended && above(container.desiredMemory, handle.expected.memory))
      this.#raise(container, container.desiredMemory, change);
    // At once: what is requested after this last look begins a new reduction.
    container.memoryBusy = false;
  }

  #describe(
    record: AuditRecord,
    container: Container,
    resource: AuditResource,
    { who, why, activation }: Change,
  ): void {
    record.resource = resource;
    record.who = who;
    record.why = why;
    record.container = container.id;
    record.containerName = container.info.name;
    const { revision } = container;
    if (revision !== null) {
      record.action = revision.fn.action;
      record.version = revision.version;
      record.mode = revision.fn.mode;
    }
    if (activation === null) return;
    record.activation = activation.id;
    if (resource === 'cpu.shares') {
      record.demand = record.granted = activation.run.shares;
      record.rangeReason = activation.run.cpu.reason;
      return;
    }
    const grant: Grant = resource === 'memory' ? activation.run.memory : activation.run.cpu;
    record.demand = grant.demand;
    record.low = grant.lower;
    record.high = grant.upper;
    record.rangeReason = grant.reason;
    record.granted = grant.granted;
  }

  #record(container: Container, written: Written, change: Change): void {
    const { resource, old, value, readBack, result, before } = written;
    this.#limited.add(container.id);
    const now = this.#clock.monotonic();
    const record = this.#audit.next(this.#clock.wall());
    this.#describe(record, container, resource, change);
    record.old = old;
    record.new = value;
    record.readBack = readBack;
    record.result = result;
    record.duration = (now - before) * 1000;
    // 0 protects nothing, where it is no limit for the other resources.
    const isRaise = resource === 'memory.low' ? value > 0 : above(value, old);
    this.tally.add(resource, isRaise, result, record.duration);
    this.#count(result, container, resource, now);
  }

  #count(result: WriteResult, container: Container, resource: AuditResource, now: number): void {
    const counters = this.#counters;
    counters[RESULT_COUNTERS[result]]++;
    if (result === 'written' || result === 'gone') return;
    const fields = { container: container.info.id, resource, result };
    this.#log.warn(`limit_${result}`, now, fields, 'the kernel did not apply a limit');
  }
}
