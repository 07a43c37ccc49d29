import type { Target } from '../../broker/messages/index.js';
import type { Bytes, Millis } from '../../config/index.js';
import {
  type ContainerState,
  type Decider,
  type GrantChange,
  NO_LIMIT,
  type Outcome,
  type SampleAction,
  type UsageSample,
} from '../decision/index.js';
import type { ActivationListener } from './activation-tracker.js';
import { CommonWeights } from './common-weights.js';
import type { Activation, ManagedContainer } from './container.js';
import { updateDemand } from './demand.js';
import type { EndedActivation } from './ended-activation.js';
import type { FunctionRecord, Revision } from './function-record.js';
import { HostLoad } from './host-load.js';
import { type HostPorts, reusedChange } from './ports.js';
import type { TargetRules } from './target.js';

/**
 * The rules of one host, from a request to a limit and back. The daemon and the simulator both run
 * this class. No I/O: usage comes in, limits and reports go out through `HostPorts`. Times are
 * readings of one monotonic clock, ms.
 *
 * A request: identify → decide → write. An answer: measure → learn → release → report. In between
 * samples feed the mid-run safeguard.
 */
export class HostController<C extends ManagedContainer<C>> implements ActivationListener<C> {
  readonly decider: Decider;
  readonly load = new HostLoad();
  readonly weights: CommonWeights<C>;
  readonly #ports: HostPorts<C>;
  readonly #byState = new Map<ContainerState, C>();
  readonly #by = reusedChange<C>();

  constructor(decider: Decider, ports: HostPorts<C>) {
    this.decider = decider;
    this.#ports = ports;
    this.weights = new CommonWeights(decider, ports.limits, this.#byState);
    ports.limits.onMemoryRefused((container, now) => this.#memoryRefused(container, now));
  }

  // ---- containers

  /** Once per container, before anything else of it. */
  containerStarted(container: C): void {
    this.#byState.set(container.state, container);
    this.decider.weights.observe(this.#ports.limits.weightRange(container));
    if (container.keepsOwnWeight) this.weights.onContainer(container);
    this.#writeChanged();
  }

  /** Its activations have ended. Frees what it held and forgets it. */
  containerEnded(container: C): void {
    this.#byState.delete(container.state);
    this.decider.containerEnded(container.state);
    this.weights.onContainer(container);
    this.#writeChanged();
  }

  /**
   * Weight and quota of a cold start, once: from the container's start, or from `/init` if it was
   * prewarmed.
   */
  beginBoost(container: C, now: Millis): void {
    if (container.wasBoosted || container.revision !== null || !container.tapped) return;
    const { limits, reports } = this.#ports;
    const { state } = container;
    const quota = this.decider.shares.beginBoost(state, now);
    container.boosted = true;
    container.wasBoosted = true;
    reports.boosted(container);
    const change = this.#by('boost', 'cold_start');
    limits.setShares(container, state.shares, change);
    if (quota > container.user.quota) limits.setQuota(container, quota, change);
  }

  /** Its time is over, and `/init` has no answer; call it again after as long. */
  boostExpired(container: C, now: Millis): void {
    if (!container.boosted) return;
    this.decider.shares.expireBoost(container.state, now);
    const { limits } = this.#ports;
    const change = this.#by('boost', 'too_long');
    limits.setShares(container, container.state.shares, change);
    limits.setQuota(container, container.user.quota, change);
    this.weights.lower();
  }

  endBoost(container: C, why: string): void {
    if (!container.boosted) return;
    container.boosted = false;
    this.decider.shares.endBoost(container.state);
    const { limits } = this.#ports;
    const change = this.#by('boost', why);
    limits.setShares(container, container.state.shares, change);
    if (container.running === 0) limits.setQuota(container, container.user.quota, change);
    this.weights.lower();
  }

  /**
   * The revision that a container serves. A container serves one function for its life, so a second
   * name means that the request cannot be trusted: null.
   */
  identify(container: C, action: string, version: string, now: Millis): Revision | null {
    const known = container.revision;
    if (known !== null)
      return known.version === version && known.fn.action === action ? known : null;
    const { state } = container;
    const revision = this.#ports.functions.revision(action, version, state.user, now);
    if (revision === null) return null;
    container.revision = revision;
    state.assignFunction(revision.state, this.decider.capacity);
    revision.fn.containers++;
    this.weights.onContainer(container);
    return revision;
  }

  // ---- a request: decide, write

  onRequest(activation: Activation<C>, now: Millis): void {
    const { container, run, revision } = activation;
    const { fn } = revision;
    fn.running++;
    container.unread = false;
    this.weights.follow();
    run.enforced = container.mayLimit && !activation.late;
    run.late = container.mayLimit && activation.late;
    const wasBoosted = container.boosted;
    container.boosted = false;
    this.#decide(activation, now);
    if (run.enforced) this.#write(activation, now);
    else this.#leaveAtUserLimits(activation, wasBoosted);
    this.#writeChanged();
    this.#updateLoad(container, fn, now);
    if (!run.enforced && fn.mode === 'recommend') this.#ports.limits.recommend(activation);
  }

  #decide(activation: Activation<C>, now: Millis): void {
    const { container, run, revision } = activation;
    const { usage, reports } = this.#ports;
    activation.hasTarget = revision.fn.target.applyTo(run, now);
    usage.atStart(activation, now);
    // Before the decision, which counts with the loan.
    const mayLend = run.enforced || run.late;
    if (mayLend && revision.state.mayBorrow) this.#lendMemory(container, revision);
    this.decider.start(run, now);
    revision.fn.noteStart(container.state, now);
    reports.decided(activation);
  }

  #write(activation: Activation<C>, now: Millis): void {
    const { container, run, author } = activation;
    const { limits } = this.#ports;
    const change = this.#by(author, run.cpu.choice, activation);
    container.limited = true;
    limits.setShares(container, run.shares, change);
    const result = limits.setQuota(container, run.quota, change);
    if (result !== 'written' && result !== 'unchanged') this.decider.refused(run, 'cpu', now);
    // The kernel has another quota than the one that was written: write the user's.
    if (result === 'not_effective')
      limits.setQuota(container, run.quota, this.#by(author, 'not_effective', activation));
    this.#writeMemory(activation);
  }

  #writeMemory(activation: Activation<C>): void {
    const { container, run, revision, author } = activation;
    const { limits } = this.#ports;
    if (revision.state.memoryPolicy === 'faasrm') {
      const change = this.#by(author, run.memory.choice, activation);
      limits.setMemory(container, run.memoryLimit, change);
      return;
    }
    this.#writeLoan(activation);
  }

  #writeLoan(activation: Activation<C>): void {
    const { container, revision } = activation;
    const { limits } = this.#ports;
    limits.protectMemory(container);
    const { memoryLoan } = container.state;
    if (memoryLoan > 0) {
      const why = revision.state.hitUserLimit ? 'hit_user_limit' : 'right_sized';
      const change = this.#by('loan', why, activation);
      limits.setMemory(container, container.user.memory + memoryLoan, change);
    }
  }

  /** Modes observe and recommend, a tap that is not trusted, or a late start. */
  #leaveAtUserLimits(activation: Activation<C>, wasBoosted: boolean): void {
    const { container, run } = activation;
    const { limits } = this.#ports;
    // The safeguard does not watch this activation: limits lowered for another one must go.
    if (container.limited) this.#revertLimits(activation, 'not_enforced');
    if (wasBoosted) {
      const change = this.#by('boost', 'ended');
      limits.setShares(container, container.state.shares, change);
      limits.setQuota(container, container.user.quota, change);
    }
    if (run.late) this.#writeLate(activation);
  }

  /** With its own weight it would wait for every raised one. */
  #writeLate(activation: Activation<C>): void {
    const { container, run, revision } = activation;
    container.limited = true;
    this.#ports.limits.setShares(container, run.shares, this.#by('policy', 'late', activation));
    if (revision.state.memoryPolicy === 'guarantee') this.#writeLoan(activation);
  }

  /**
   * A request that cannot be read runs in the container: user limits. Its weight is that of others
   * if it may be limited; otherwise theirs must not be raised far above it.
   */
  onUnreadRequest(container: C, now: Millis): void {
    const wasUnread = container.unread;
    if (!container.hasUnknownWork && this.#ports.limits.isChanged(container))
      this.restore(container, 'safeguard', 'unknown_request', now);
    this.endBoost(container, 'unknown_function');
    container.unread = true;
    if (container.mayLimit) {
      this.decider.shares.setTypical(container.state);
      const change = this.#by('safeguard', 'unknown_request');
      this.#ports.limits.setShares(container, container.state.shares, change);
    } else if (!wasUnread) this.weights.scale();
  }

  /** For a function that has reached its user limit, or that Gleaner made smaller. */
  #lendMemory(container: C, revision: Revision): void {
    const { limits, reports } = this.#ports;
    const before = container.state.memoryLoan;
    const after = this.decider.memoryLoan(container.state, revision.state, () =>
      limits.memoryCeiling(container),
    );
    // A smaller action borrows at each run, which is no news.
    if (after > before && revision.state.hitUserLimit)
      reports.lent(container, revision, before, after);
  }

  // ---- while it runs

  /** Books a fresh sample. True if it shows a new OOM kill. */
  observe(container: C, sample: UsageSample, fn: FunctionRecord, now: Millis): boolean {
    const { step } = fn;
    if (container.periods >= 0) {
      step.periods += Math.max(0, sample.periods - container.periods);
      step.throttledPeriods += Math.max(0, sample.throttledPeriods - container.throttledPeriods);
    }
    if (sample.waiting >= 0 && container.waiting >= 0) {
      const waited = Math.max(0, sample.waiting - container.waiting) / 1000;
      step.addWait(waited);
      this.load.addWait(waited);
    }
    if (sample.waiting >= 0) step.waits = true;
    container.periods = sample.periods;
    container.throttledPeriods = sample.throttledPeriods;
    container.waiting = sample.waiting;
    if (container.oomsBefore < 0) container.oomsBefore = sample.oomKills;
    const oomKills = sample.oomKills - container.oomsBefore;
    if (oomKills <= container.oomKills) return false;
    container.oomKills = oomKills;
    return this.#attributeOom(container, now);
  }

  /** The mid-run safeguard: restores the user's limits at once if the sample shows a spike. */
  onSample(activation: Activation<C>, sample: UsageSample, now: Millis): boolean {
    const { container, run } = activation;
    const action = this.decider.sample(run, sample, now);
    if (action === 'none' || !run.enforced || !container.mayLimit) return false;
    this.#ports.reports.safeguarded(activation, action);
    this.#restoreUserLimit(activation, action);
    this.#writeChanged();
    return true;
  }

  #restoreUserLimit(activation: Activation<C>, action: SampleAction): void {
    const { container, run } = activation;
    const { limits } = this.#ports;
    const change = this.#by('safeguard', 'mid_run', activation);
    if (action !== 'restore_cpu') limits.setMemory(container, run.memoryLimit, change);
    if (action !== 'restore_memory') limits.setQuota(container, run.quota, change);
  }

  /** A policy may change the weight while the activation runs. `used`: its CPU time, ms. */
  revise(activation: Activation<C>, used: number, now: Millis): void {
    const { container, run } = activation;
    if (!container.mayLimit || !this.decider.revise(run, used, now)) return;
    this.#ports.limits.setShares(container, run.shares, this.#by('policy', 'revised', activation));
    this.load.weights.set(this.decider.weights.inForce, now);
  }

  /**
   * A container works on although its last activation is answered: it loses a raised weight, which
   * a function that answers first would have for all of its work.
   */
  onLateWork(container: C): void {
    if (container.running > 0 || !container.mayLimit) return;
    if (!this.decider.shares.neutralize(container.state)) return;
    const change = this.#by('policy', 'works_after_answer');
    this.#ports.limits.setShares(container, container.state.shares, change);
  }

  /**
   * A target names the function's memory peak on all hosts: here it counts for containers of the
   * same user limit.
   */
  onSharedPeak(
    fn: FunctionRecord,
    { peak }: Target,
    { memoryMax }: TargetRules,
    now: Millis,
  ): void {
    const state = fn.revision?.state;
    if (peak === undefined || peak.memory > memoryMax || state?.userMemory !== peak.userMemory)
      return;
    this.decider.sharedMemoryPeak(state, peak.memory, now);
  }

  /**
   * The engine's event of an OOM kill. The kernel's counter and the event report the same kill,
   * either may come late or not at all, and each kill is attributed once.
   */
  onOomEvent(container: C, now: Millis): void {
    container.oomEvents++;
    this.#attributeOom(container, now);
  }

  #attributeOom(container: C, now: Millis): boolean {
    const known = Math.max(container.oomKills, container.oomEvents);
    if (known <= container.oomAttributed) return false;
    container.oomAttributed = known;
    const { limits, reports } = this.#ports;
    const user = container.user.memory;
    const isRunning = container.running > 0 && !container.ended;
    const limit = isRunning ? limits.memoryInForce(container) : container.memoryInForce;
    // Caused by Gleaner only if the limit was below the user's.
    const isHarvest = limit !== NO_LIMIT && (user === NO_LIMIT || limit < user);
    const { revision } = container;
    if (revision !== null) {
      revision.fn.step.oomKills++;
      this.decider.oom(revision.state, limit as Bytes, now);
    }
    reports.oomKilled(container, limit, isHarvest);
    return true;
  }

  // ---- an end: measure, learn, release, report

  onEnd(activation: Activation<C>, now: Millis): void {
    const { container, run, revision } = activation;
    const { limits } = this.#ports;
    revision.fn.running--;
    // Answered after another one started beside it: the function runs concurrently.
    if (activation.overtaken && activation.reason === 'answer')
      revision.state.concurrency = Math.max(revision.state.concurrency, run.concurrency);
    container.memoryInForce = limits.memoryInForce(container);
    if (container.running === 0 && !container.ended && container.limited)
      this.#revertLimits(activation, activation.reason);
    const isKilled = this.#measure(activation, now);
    const outcome = outcomeOf(activation, isKilled);
    const isUsable = activation.clean && !activation.limitsInterrupted;
    run.cold = activation.cold;
    this.decider.finish(run, outcome, activation.duration / 1000, isUsable, now);
    if (!container.ended && outcome === 'success' && this.decider.takeBackLoan(run)) {
      const limit = container.user.memory + container.state.memoryLoan;
      limits.setMemory(container, limit, this.#by('loan', 'not_used', activation));
    }
    this.#writeChanged();
    this.#updateLoad(container, revision.fn, now);
    this.#report(activation, revision.fn, outcome, now);
  }

  /** Reads the usage of the activation. True if the reading shows a new OOM kill. */
  #measure(activation: Activation<C>, now: Millis): boolean {
    const { container, run, revision } = activation;
    const { usage } = this.#ports;
    const sample = container.ended ? null : usage.atEnd(activation, now);
    if (sample === null) return false;
    this.decider.sample(run, sample, now);
    const isKilled = this.observe(container, sample, revision.fn, now);
    if (container.running === 0) usage.resetPeak(container);
    return isKilled;
  }

  #report(activation: EndedActivation, fn: FunctionRecord, outcome: Outcome, now: Millis): void {
    const { reports } = this.#ports;
    const isFailed = outcome === 'failure' || outcome === 'oom';
    const isWhole = activation.reason !== 'limits_changed';
    if (isWhole) {
      fn.step.record(activation, isFailed, busyCpu(activation), now);
      fn.activations++;
    }
    reports.ended(activation, fn, outcome);
    if (isWhole) reports.stepped(fn, now);
  }

  /**
   * An activation whose `/init` failed gets no `/run`. It ran at user limits and is not used for
   * learning: an initialization says nothing about the needs of `/run`.
   */
  onInitFailed(activation: EndedActivation, fn: FunctionRecord, now: Millis): void {
    activation.run.enforced = false;
    this.#report(activation, fn, 'failure', now);
  }

  // ---- back to user limits

  /** Restores the container's user limits. Running activations are not used for learning. */
  restore(container: C, who: string, why: string, now: Millis): void {
    container.interruptLimits();
    if (container.boosted) {
      container.boosted = false;
      this.decider.shares.endBoost(container.state);
    }
    container.limited = false;
    this.#ports.limits.restore(container, this.#by(who, why));
    this.decider.userLimits(container.state, now);
    this.load.weights.set(this.decider.weights.inForce, now);
    this.#writeChanged();
  }

  /**
   * The activations of these containers can no longer be seen. Returns how many had other limits
   * than the user's.
   */
  onTapLost(containers: readonly C[], why: string, now: Millis): number {
    // All of them first, so that what one frees is not lent to the next.
    for (const container of containers) container.tapped = false;
    let restored = 0;
    for (const container of containers) {
      const { boosted, limited } = container;
      if (!boosted && !limited && !this.#ports.limits.isChanged(container)) continue;
      restored++;
      this.restore(container, 'restore', why, now);
    }
    this.weights.scale();
    return restored;
  }

  /**
   * Modes have changed: restores containers whose functions are no longer enforced. `mayBoost`:
   * cold starts of containers without a known function may still be boosted.
   */
  onModeChanged(containers: Iterable<C>, mayBoost: boolean, why: string, now: Millis): void {
    for (const container of containers) {
      const isEnforced = container.revision?.fn.enforced ?? (container.boosted && mayBoost);
      if (!isEnforced && this.#ports.limits.isChanged(container))
        this.restore(container, 'mode', why, now);
    }
    this.weights.scale();
  }

  /** A reduction of memory was refused: the old limit is in force. */
  #memoryRefused(container: C, now: Millis): void {
    for (let each = container.newest; each !== null; each = each.older)
      this.decider.refused(each.run, 'memory', now);
  }

  /**
   * Quotas return to the user's at each end, so that a missed start is harmless. Weights stay:
   * a container serves one function.
   */
  #revertLimits(activation: Activation<C>, why: string): void {
    const { container, revision } = activation;
    const { limits } = this.#ports;
    const { user, desiredMemory } = container;
    const change = this.#by('restore', why, activation);
    container.limited = false;
    limits.setQuota(container, user.quota, change);
    // A reload may have changed the policy while a limit was lowered.
    const isLowered = desiredMemory > 0 && desiredMemory < user.memory;
    if (isLowered || revision.state.memoryPolicy === 'faasrm')
      limits.setMemory(container, user.memory, change);
  }

  /** An activation has started or ended in the container. */
  #updateLoad({ state, demand }: C, fn: FunctionRecord, now: Millis): void {
    updateDemand(demand, state.runs, fn.demand, this.load.demand, now);
    this.load.weights.set(this.decider.weights.inForce, now);
  }

  /** Writes the limits of containers whose loans or greatest weight this event has changed. */
  #writeChanged(): void {
    this.decider.takeChanged(this.#writeLoans);
    this.weights.lower();
  }

  readonly #writeLoans = (state: ContainerState, why: GrantChange): void => {
    const container = this.#byState.get(state);
    if (container === undefined || container.ended || container.running === 0) return;
    const { revision } = container;
    if (revision === null || !container.mayLimit) return;
    const { limits, reports } = this.#ports;
    const change = this.#by('pool', why === 'revoked' ? 'loan_taken_back' : why, container.newest);
    if (state.mode === 'quota') limits.setQuota(container, state.cpu.granted, change);
    if (why === 'lent_later') {
      if (container.newest !== null) reports.lentLater(container.newest);
      return;
    }
    if (revision.state.memoryPolicy === 'faasrm' && state.memory.active)
      limits.setMemory(container, Math.floor(state.memory.granted), change);
    reports.revoked(container, revision);
  };
}

function outcomeOf<C extends ManagedContainer<C>>(
  activation: Activation<C>,
  isKilled: boolean,
): Outcome {
  const { reason, status } = activation;
  // Of several in one container any may have been killed.
  if (isKilled && !activation.shared) return 'oom';
  // OpenWhisk's proxy answers with 2xx if the action ended without an error of its own.
  if (reason === 'answer') return status >= 200 && status < 300 ? 'success' : 'failure';
  return reason === 'closed' || reason === 'reset' || reason === 'container_end'
    ? 'failure'
    : 'unknown';
}

/** Busy CPU during the activation, millicores; -1 if unknown. */
function busyCpu({ run: { startCpu, endCpu }, duration }: EndedActivation): number {
  if (startCpu < 0 || endCpu < startCpu || duration <= 0) return -1;
  return ((endCpu - startCpu) / duration) * 1000;
}
