import type { Micros } from '../../config/index.js';
import type { ContainerState, GrantChange } from '../decision/index.js';
import type { Activation } from './activations.js';
import { type Container, cpuAtStart, mayLimit } from './containers.js';
import type { HookParts } from './hook-parts.js';

/**
 * Asks the decider for each activation's limits and brings them into force, or only notes them
 * (mode `recommend`).
 */
export class Grants {
  readonly #parts: HookParts;
  readonly #byState = new Map<ContainerState, Container>();
  readonly #changed: (state: ContainerState, why: GrantChange) => void;
  /** `policy:<name>` and `agent:<author>` by what they are of: text is made once. */
  readonly #authors = new Map<string, string>();

  constructor(parts: HookParts) {
    this.#parts = parts;
    this.#changed = (state, why) => this.#writeChange(state, why);
    parts.applier.refusedMemory = (container) => {
      for (let each = container.newest; each !== null; each = each.older) {
        parts.decider.refused(each.run, 'memory', parts.clock.monotonic());
      }
    };
  }

  add(container: Container): void {
    this.#byState.set(container.state, container);
  }

  remove(container: Container): void {
    this.#byState.delete(container.state);
  }

  /** `boosted`: the limits of a cold-start boost are still in force. */
  start(activation: Activation, boosted: boolean): void {
    const { decider, applier } = this.#parts;
    const { container, revision, run } = activation;
    const { fn } = revision;
    const agent = fn.target.applyTo(run, activation.startedMonotonic);
    run.startCpu = cpuAtStart(container, activation.startedMonotonic) as Micros;
    // Asked for first, so that the decision counts with it.
    if (run.enforced && revision.state.hitUserLimit) this.#lend(activation);
    decider.start(run, activation.startedMonotonic);
    fn.noteStart(run, container.state, activation.startedMonotonic);
    const who = this.#author(activation, agent);
    if (run.enforced) {
      // As it was left; the watch for drift looks whether it still is.
      if (run.shares !== container.handle.expected.shares)
        applier.setShares(container, run.shares, who, run.cpu.choice, activation);
      container.limited = true;
      const result = applier.setQuota(container, run.quota, who, run.cpu.choice, activation);
      if (result !== 'written' && result !== 'unchanged')
        decider.refused(run, 'cpu', activation.startedMonotonic);
      // Something is in force that nobody asked for.
      if (result === 'not_effective')
        applier.setQuota(container, run.quota, who, 'not_effective', activation);
      this.#applyMemory(activation, who);
      this.writeChanged();
      return;
    }
    // Another run of this container has lowered limits, and nobody would guard this one under them.
    if (container.limited) this.#revertLimits(activation, 'not_enforced');
    this.writeChanged();
    if (boosted) {
      applier.setShares(container, container.info.user.shares, 'boost', 'ended', null);
      applier.setQuota(container, container.info.user.quota, 'boost', 'ended', null);
    }
    if (fn.mode === 'recommend') this.#recommend(activation, who);
  }

  /**
   * Quotas return to the user's at the end, so a missed start is harmless; weights stay, a
   * container serves one function.
   */
  end(activation: Activation): void {
    this.#revertLimits(activation, activation.reason);
  }

  #revertLimits(activation: Activation, why: string): void {
    const { applier } = this.#parts;
    const { container } = activation;
    const { user } = container.info;
    container.limited = false;
    applier.setQuota(container, user.quota, 'restore', why, activation);
    // Whatever the policy is by now: a reload may have changed it under a lowered limit.
    const lowered = container.desiredMemory > 0 && container.desiredMemory < user.memory;
    if (lowered || activation.revision.state.memoryPolicy === 'faasrm') {
      applier.setMemory(container, user.memory, 'restore', why, activation);
    }
  }

  /**
   * Writes the limits of containers whose loans were taken back meanwhile, or to which more is lent
   * now.
   */
  writeChanged(): void {
    this.#parts.decider.takeChanged(this.#changed);
  }

  #author(activation: Activation, agent: boolean): string {
    const policy = this.#parts.decider.policyName(activation.run);
    if (policy === 'target' && !agent) this.#parts.counters.noTarget++;
    const key = agent && policy === 'target' ? activation.revision.fn.target.author : policy;
    let author = this.#authors.get(key);
    if (author === undefined) {
      author = agent && policy === 'target' ? `agent:${key}` : `policy:${key}`;
      if (this.#authors.size > 256) this.#authors.clear();
      this.#authors.set(key, author);
    }
    return author;
  }

  #applyMemory(activation: Activation, who: string): void {
    const { applier } = this.#parts;
    const { container, revision, run } = activation;
    if (revision.state.memoryPolicy === 'faasrm') {
      applier.setMemory(container, run.memoryLimit, who, run.memory.choice, activation);
      return;
    }
    applier.protect(container);
    if (container.state.memoryLoan > 0) {
      const limit = container.info.user.memory + container.state.memoryLoan;
      applier.setMemory(container, limit, 'loan', 'hit_user_limit', activation);
    }
  }

  /** A loan for the container's life, for a function that has met its user limit. */
  #lend(activation: Activation): void {
    const { decider, counters, events } = this.#parts;
    const { container, revision } = activation;
    const before = container.state.memoryLoan;
    const loan = decider.memoryLoan(
      container.state,
      revision.state,
      activation.startedMonotonic,
      container.memoryCeiling,
    );
    if (!(loan > before)) return;
    counters.loans++;
    events.push({
      kind: 'loan',
      function: revision.fn.action,
      resource: 'memory',
      container: container.info.id.slice(0, 64),
      before: container.info.user.memory + before,
      after: container.info.user.memory + loan,
      reason: 'hit_user_limit',
    });
  }

  #recommend(activation: Activation, who: string): void {
    const { applier } = this.#parts;
    const { container, run } = activation;
    if (container.state.mode === 'quota')
      applier.recommended(container, 'cpu.quota', run.quota, who, activation);
    else applier.recommended(container, 'cpu.shares', run.shares, who, activation);
    if (run.memoryLimit > 0)
      applier.recommended(container, 'memory', run.memoryLimit, who, activation);
  }

  #writeChange(state: ContainerState, why: GrantChange): void {
    const container = this.#byState.get(state);
    if (container === undefined || container.ended || container.running === 0) return;
    // With the kill switch on, paused, or unseen by the tap: user limits are in force already.
    if (container.revision === null || !mayLimit(container)) return;
    const { applier, events } = this.#parts;
    const reason = why === 'revoked' ? 'loan_taken_back' : why;
    if (state.mode === 'quota')
      applier.setQuota(container, state.cpu.granted, 'pool', reason, container.newest);
    if (why === 'lent_later') {
      if (container.newest !== null) this.announce(container.newest);
      return;
    }
    if (container.revision.state.memoryPolicy === 'faasrm' && state.memory.active) {
      applier.setMemory(container, state.memory.granted, 'pool', reason, container.newest);
    }
    events.push({
      kind: 'release',
      function: container.revision.fn.action,
      container: container.info.id.slice(0, 64),
      reason,
    });
  }

  /** Tells of harvesting and borrowing when they begin and when they end. */
  announce(activation: Activation): void {
    const { run } = activation;
    const { fn } = activation.revision;
    const harvesting = run.enforced && (run.cpu.reduced || run.memory.reduced);
    const borrowing = run.enforced && (run.cpu.borrowed > 0 || run.memory.borrowed > 0);
    if (harvesting === fn.harvesting && borrowing === fn.borrowing) return;
    const begins = (harvesting && !fn.harvesting) || (borrowing && !fn.borrowing);
    const lent = harvesting || fn.harvesting;
    fn.harvesting = harvesting;
    fn.borrowing = borrowing;
    const onCpu = run.cpu.reduced || run.cpu.borrowed > 0;
    // What is released may have been either: both are the user's again, and CPU changes at each
    // activation.
    const resource = !onCpu && (run.memory.reduced || run.memory.borrowed > 0) ? 'memory' : 'cpu';
    const grant = run[resource];
    this.#parts.events.push({
      kind: begins ? (borrowing ? 'loan' : 'harvest') : 'release',
      function: fn.action,
      resource,
      before: grant.user,
      after: grant.granted,
      reason: lent ? grant.reason : grant.choice,
    });
  }
}
