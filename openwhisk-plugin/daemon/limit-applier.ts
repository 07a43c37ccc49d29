import type { RateLimitedLog } from '../../broker/index.js';
import type { Bytes, Clock } from '../../config/index.js';
import type { Grant } from '../decision/index.js';
import { type Limits, NO_LIMIT, type WriteResult } from '../decision/index.js';
import { QUOTA_ROUNDING } from '../host/cgroup/index.js';
import type { Activation } from './activations.js';
import type { AuditLog, AuditRecord, AuditResource } from './audit.js';
import type { Container } from './containers.js';
import type { Counters } from './counters.js';
import { type LimitResource, LimitTally } from './tallies.js';

/** True where a limit `a` allows more than `b`; {@link NO_LIMIT} allows most. */
function above(a: number, b: number): boolean {
  if (b === NO_LIMIT) return false;
  return a === NO_LIMIT || a > b;
}

/**
 * The only place where limits are changed: one container after another, newest wish wins, each
 * change with its audit record. Everything is synchronous except a memory reduction, which the
 * kernel may make wait.
 */
export class LimitApplier {
  readonly #clock: Clock;
  readonly #audit: AuditLog;
  readonly #counters: Counters;
  readonly #log: RateLimitedLog;
  readonly #pending = new Set<Promise<void>>();
  readonly tally = new LimitTally();
  /** Told when a reduction of memory was not taken: the old limit stands. */
  refusedMemory: (container: Container) => void = () => undefined;

  constructor(clock: Clock, audit: AuditLog, counters: Counters, log: RateLimitedLog) {
    this.#clock = clock;
    this.#audit = audit;
    this.#counters = counters;
    this.#log = log;
  }

  /** `activation`: the one that the change is for, whose decision the audit record repeats. */
  setShares(
    container: Container,
    shares: number,
    who: string,
    why: string,
    activation: Activation | null,
  ): WriteResult {
    const before = this.#clock.monotonic();
    const old = container.handle.expected.shares;
    const result = container.handle.setShares(shares);
    if (result !== 'unchanged') {
      const readBack = container.handle.expected.shares;
      this.#record(
        container,
        'cpu.shares',
        old,
        shares,
        readBack,
        result,
        before,
        who,
        why,
        activation,
      );
    } else this.#counters.limitsUnchanged++;
    return result;
  }

  setQuota(
    container: Container,
    quota: number,
    who: string,
    why: string,
    activation: Activation | null,
  ): WriteResult {
    const before = this.#clock.monotonic();
    const old = container.handle.expected.quota;
    const result = container.handle.setQuota(quota as typeof old);
    if (result !== 'unchanged') {
      const readBack = container.handle.expected.quota;
      this.#record(
        container,
        'cpu.quota',
        old,
        quota,
        readBack,
        result,
        before,
        who,
        why,
        activation,
      );
    } else this.#counters.limitsUnchanged++;
    return result;
  }

  /**
   * A raise is in force on return; a reduction follows by itself, unless a newer wish comes first.
   */
  setMemory(
    container: Container,
    limit: number,
    who: string,
    why: string,
    activation: Activation | null,
  ): void {
    const { handle } = container;
    container.desiredMemory = limit;
    if (limit === handle.expected.memory && !container.memoryBusy) return;
    if (above(handle.expected.memory, limit)) {
      if (!container.memoryBusy) this.#lower(container, who, why);
      return;
    }
    this.#raise(container, limit, who, why, activation);
  }

  /**
   * v2: what the user asked for is this container's before any borrower's (`memory.low`, design
   * §3). Once in its life.
   */
  protect(container: Container): void {
    if (container.isProtected === null)
      container.isProtected = this.#protect(container, container.info.user.memory, 'enforced');
  }

  #protect(container: Container, amount: number, why: string): boolean {
    const before = this.#clock.monotonic();
    const result = container.handle.protectMemory(amount as Bytes);
    if (result === 'written')
      this.#record(
        container,
        'memory.low',
        -1,
        amount,
        amount,
        result,
        before,
        'lender',
        why,
        null,
      );
    return result === 'written' || result === 'unchanged';
  }

  /**
   * Every limit of the user, as inspect says. A loan still in use stays until the next try: taking
   * it would kill.
   */
  restore(container: Container, who: string, why: string): void {
    const { user } = container.info;
    this.setShares(container, user.shares, who, why, null);
    this.setQuota(container, user.quota, who, why, null);
    this.setMemory(container, user.memory, who, why, null);
    if (container.isProtected) this.#protect(container, 0, why);
    container.isProtected = null;
    this.#counters.restores++;
  }

  isChanged(container: Container): boolean {
    const { expected } = container.handle;
    const { user } = container.info;
    // The kernel rounds a quota to microseconds and a memory limit down to pages.
    const short = user.memory - expected.memory;
    const memory =
      expected.memory === NO_LIMIT || user.memory === NO_LIMIT
        ? short !== 0
        : short < 0 || short >= 65_536;
    return (
      expected.shares !== user.shares ||
      Math.abs(expected.quota - user.quota) > QUOTA_ROUNDING ||
      memory ||
      container.isProtected === true
    );
  }

  /** Writes the expected limits again after something else has changed them to `found`. */
  repair(container: Container, found: Readonly<Limits>): void {
    const { handle } = container;
    const { shares, quota, memory } = handle.expected;
    const before = this.#clock.monotonic();
    const note = (
      resource: LimitResource,
      old: number,
      value: number,
      result: WriteResult,
    ): void => {
      this.#record(
        container,
        resource,
        old,
        value,
        value,
        result,
        before,
        'drift',
        'changed_outside',
        null,
      );
    };
    if (found.shares !== shares) note('cpu.shares', found.shares, shares, handle.setShares(shares));
    if (found.quota !== quota) note('cpu.quota', found.quota, quota, handle.setQuota(quota));
    if (found.memory === memory) return;
    container.desiredMemory = memory;
    if (above(memory, found.memory))
      note('memory', found.memory, memory, handle.raiseMemory(memory));
    else if (!container.memoryBusy) this.#lower(container, 'drift', 'changed_outside', true);
  }

  /** What would have been written in mode `recommend`. */
  recommended(
    container: Container,
    resource: AuditResource,
    value: number,
    who: string,
    activation: Activation,
  ): void {
    const { expected } = container.handle;
    const old =
      resource === 'cpu.shares'
        ? expected.shares
        : resource === 'cpu.quota'
          ? expected.quota
          : expected.memory;
    if (old === value) return;
    const record = this.#audit.next(this.#clock.wall());
    this.#describe(record, container, resource, who, 'recommend', activation);
    record.old = old;
    record.new = value;
    record.result = 'recommended';
  }

  /** Resolves when no reduction is under way. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  #raise(
    container: Container,
    limit: number,
    who: string,
    why: string,
    activation: Activation | null,
  ): void {
    const { handle } = container;
    const before = this.#clock.monotonic();
    const old = handle.expected.memory;
    const result = handle.raiseMemory(limit as typeof old);
    if (result === 'unchanged') this.#counters.limitsUnchanged++;
    else
      this.#record(
        container,
        'memory',
        old,
        limit,
        handle.expected.memory,
        result,
        before,
        who,
        why,
        activation,
      );
  }

  #lower(container: Container, who: string, why: string, again = false): void {
    container.memoryBusy = true;
    const work = this.#lowering(container, who, why, again)
      .catch((error: unknown) => {
        this.#log.warn(
          'memory_reduction',
          this.#clock.monotonic(),
          { container: container.info.id, error: String(error) },
          'a memory limit could not be lowered',
        );
      })
      .finally(() => {
        container.memoryBusy = false;
        this.#pending.delete(work);
      });
    this.#pending.add(work);
  }

  async #lowering(container: Container, who: string, why: string, again: boolean): Promise<void> {
    const { handle } = container;
    while (!container.ended && (again || above(handle.expected.memory, container.desiredMemory))) {
      again = false;
      const limit = container.desiredMemory;
      const before = this.#clock.monotonic();
      const old = handle.expected.memory;
      const result = await handle.lowerMemory(limit as typeof old);
      if (result !== 'unchanged') {
        this.#record(
          container,
          'memory',
          old,
          limit,
          handle.expected.memory,
          result,
          before,
          who,
          why,
          null,
        );
      }
      if (result === 'written') continue;
      // Refused because a newer wish took its place, or because the kernel could not: only the
      // latter is a refusal.
      if (result !== 'gone' && above(handle.expected.memory, container.desiredMemory))
        this.refusedMemory(container);
      break;
    }
    // A wish to raise came while the kernel was still reclaiming: it counts, being newer.
    if (!container.ended && above(container.desiredMemory, handle.expected.memory)) {
      this.#raise(container, container.desiredMemory, who, why, null);
    }
  }

  #describe(
    record: AuditRecord,
    container: Container,
    resource: AuditResource,
    who: string,
    why: string,
    activation: Activation | null,
  ): void {
    record.resource = resource;
    record.who = who;
    record.why = why;
    record.container = container.info.id;
    record.containerName = container.info.name;
    if (container.revision !== null) {
      record.action = container.revision.fn.action;
      record.version = container.revision.version;
      record.mode = container.revision.fn.mode;
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

  #record(
    container: Container,
    resource: LimitResource,
    old: number,
    value: number,
    readBack: number,
    result: WriteResult,
    before: number,
    who: string,
    why: string,
    activation: Activation | null,
  ): void {
    const now = this.#clock.monotonic();
    const record = this.#audit.next(this.#clock.wall());
    this.#describe(record, container, resource, who, why, activation);
    record.old = old;
    record.new = value;
    record.readBack = readBack;
    record.result = result;
    record.duration = (now - before) * 1000;
    this.tally.add(resource, above(value, old), result, record.duration);
    this.#count(result, container, resource, now);
  }

  #count(result: WriteResult, container: Container, resource: AuditResource, now: number): void {
    const counters = this.#counters;
    if (result === 'written') counters.limitsWritten++;
    else if (result === 'gone') counters.limitsGone++;
    else {
      if (result === 'refused') counters.limitsRefused++;
      else if (result === 'not_effective') counters.limitsNotEffective++;
      else counters.limitsUnsupported++;
      this.#log.warn(
        `limit_${result}`,
        now,
        { container: container.info.id, resource },
        'a limit was not taken by the kernel',
      );
    }
  }
}
