import { DurationHistogram, type Micros } from '../../config/index.js';
import type { EndedActivation, FunctionRecord, Revision } from '../control/index.js';
import type { UsageSample } from '../decision/index.js';
import { type Outcome, Run, type SampleAction } from '../decision/index.js';
import type {
  Bridge,
  Identity,
  LossReason,
  TapAnomaly,
  TapListener,
  TapRequest,
} from '../host/ports/index.js';
import { type Activation, type ActivationListener, ActivationTracker } from './activations.js';
import { type Container, mayLimit, SETTLED_MILLIS } from './containers.js';
import { END_COUNTERS, LagRing } from './counters.js';
import { FailedInits } from './failed-inits.js';
import { Grants } from './grants.js';
import type { HookParts } from './hook-parts.js';
import { DecisionTally } from './tallies.js';
import { TapState } from './tap-state.js';

/**
 * From a packet to a limit and back (design §3): tap → container → function → decision → limits;
 * and at the end user limits, history, explanation, observation. Everything here runs inside the
 * tap's call: no promise, no text, no waiting.
 */
export class Pipeline implements TapListener, ActivationListener {
  readonly tracker: ActivationTracker;
  readonly lags = new LagRing();
  readonly lag = new DurationHistogram();
  readonly decisions = new DecisionTally();
  /** CPU that containers used while activations ran, since the start, us. */
  usedCpu = 0;
  readonly failedInits = new FailedInits();
  readonly tap = new TapState();
  readonly #parts: HookParts;
  readonly #grants: Grants;
  /** Called when a function's step may be due. */
  readonly #stepped: (fn: FunctionRecord) => void;
  readonly #mayBoost: () => boolean;

  /** `mayBoost`: cold-start boosts are configured, and limits may be written. */
  constructor(parts: HookParts, stepped: (fn: FunctionRecord) => void, mayBoost: () => boolean) {
    this.#parts = parts;
    this.#stepped = stepped;
    this.#mayBoost = mayBoost;
    this.tracker = new ActivationTracker(parts.steady, this);
    this.#grants = new Grants(parts);
  }

  /** Every container of the registry passes here once, when it starts and when it ends. */
  containerAdded(container: Container): void {
    container.tapped = this.tap.listens(container.info.bridge);
    this.#grants.add(container);
  }

  containerRemoved(container: Container): void {
    this.#grants.remove(container);
    // Cut off, or never answered within the time limit: OpenWhisk removes the container and sends
    // no `/run`.
    if (container.initPending) {
      container.initMicros = Math.max(0, this.#parts.steady.wall() - container.initAt) as Micros;
      this.#initFailed(container, 0);
    }
  }

  // ---- from the tap

  request(request: TapRequest): void {
    const { counters, containers } = this.#parts;
    counters.requests++;
    const container = containers.at(request.address);
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
      // An unknown activation runs in it from here on: at user limits, weight included, beside
      // whatever still runs.
      if (this.#parts.applier.isChanged(container))
        this.restore(container, 'safeguard', 'unknown_request');
      this.endBoost(container, 'unknown_function');
      return;
    }
    this.tracker.begin(
      container,
      revision,
      request.identity,
      request.connection,
      request.at,
      request.contentLength,
    );
    if (container.ended) return;
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
      this.endBoost(container, 'init_answered');
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
    if (recovered)
      logger.info({ bridge }, 'the tap listens again: activations that start now get decisions');
  }

  /**
   * All that the tap is of use for is over until it listens again: every container goes back to its
   * user's limits, and stays there.
   */
  lost(reason: LossReason, bridge: string | null, detail: string): void {
    const { counters, containers, log, clock } = this.#parts;
    if (reason === 'restarted') counters.tapRestarts++;
    else if (reason === 'dropped') counters.tapDrops++;
    else counters.tapUnavailable++;
    this.tap.lost(bridge, detail, clock.wall());
    const restored = this.#untap(
      [...containers.values()].filter(({ info }) => bridge === null || info.bridge === bridge),
      'tap_lost',
    );
    log.warn(
      `tap_${reason}`,
      clock.monotonic(),
      { bridge, detail, restored },
      'tap lost: user limits are in force until it listens again',
    );
  }

  counted(interfaceDrops: number, ignored: number): void {
    const { counters } = this.#parts;
    counters.tapInterfaceDrops += interfaceDrops;
    counters.tapCountersIgnored += ignored;
  }

  /** The bridges that the tap should listen on, before it is told of them. */
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

  // ---- activations

  activationStarted(activation: Activation): void {
    const { counters } = this.#parts;
    const { container, run } = activation;
    const { fn } = activation.revision;
    counters.started++;
    fn.running++;
    this.#parts.containers.watch(container);
    if (activation.late) counters.late++;
    run.enforced = fn.enforced && container.tapped && !activation.late;
    const { boosted } = container;
    container.boosted = false;
    this.#grants.start(activation, boosted);
    this.#sumCpu(container, run.startCpu);
    this.decisions.add(fn.mode, run.cpu.reason);
  }

  activationEnded(activation: Activation): void {
    const { counters, decider, clock } = this.#parts;
    const { container, run } = activation;
    const { fn } = activation.revision;
    const now = clock.monotonic();
    counters.ended++;
    counters[END_COUNTERS[activation.reason]]++;
    if (activation.stepped) counters.clockSteps++;
    fn.running--;
    container.memoryInForce = container.handle.expected.memory;
    if (container.running === 0 && !container.ended && container.limited)
      this.#grants.end(activation);
    let killed = false;
    let sampled = false;
    if (!container.ended) {
      const ended = answered(activation) && now - container.sample.at < SETTLED_MILLIS;
      sampled = !ended && container.probe.sample(container.sample);
      run.endCpu = (sampled ? container.sample.cpu : container.probe.cpu()) as Micros;
      container.cpuCounter = run.endCpu;
      container.cpuCounterAt = now;
      this.#sumCpu(container, run.endCpu);
      if (sampled) {
        decider.sample(run, container.sample, now);
        killed = this.observe(container, container.sample, fn);
      }
    }
    const outcome = outcomeOf(activation, killed);
    const isUsable = activation.clean && !activation.limitsInterrupted;
    run.cold = activation.cold;
    decider.finish(run, outcome, activation.duration / 1000, isUsable, now);
    this.#grants.writeChanged();
    const cpu = busy(activation);
    fn.step.record(activation, outcome === 'failure' || outcome === 'oom', cpu, now);
    fn.activations++;
    if (activation.clean && !run.control && !activation.cold)
      fn.latency.record(activation.duration / 1000);
    if (activation.cold) {
      fn.coldStarts++;
      fn.initMillis += activation.initMicros / 1000;
    }
    fn.explanations.record(activation);
    this.#grants.announce(activation);
    if (sampled && container.running === 0) container.probe.resetPeak();
    this.#stepped(fn);
  }

  // ---- used by the sampler and the container desk

  /**
   * The mid-run safeguard asks for user limits: they are given at once, in whichever order they
   * matter.
   */
  safeguard(activation: Activation, action: SampleAction): void {
    if (action === 'none') return;
    const { container, run, revision } = activation;
    const { applier, counters, events } = this.#parts;
    if (!run.enforced || !mayLimit(container)) return;
    counters.safeguards++;
    if (action !== 'restore_cpu')
      applier.setMemory(container, run.memoryLimit, 'safeguard', 'mid_run', activation);
    if (action !== 'restore_memory')
      applier.setQuota(container, run.quota, 'safeguard', 'mid_run', activation);
    this.#grants.writeChanged();
    events.push({
      kind: 'safeguard',
      function: revision.fn.action,
      resource: action === 'restore_memory' ? 'memory' : 'cpu',
      container: container.info.id.slice(0, 64),
      reason: 'mid_run',
    });
  }

  /** A policy may give another weight as the run goes on (`sfs`: its slice is used up). */
  revise(activation: Activation, sample: UsageSample): void {
    const { container, run } = activation;
    if (!mayLimit(container) || container.paused || run.startCpu < 0) return;
    if (this.#parts.decider.revise(run, (sample.cpu - run.startCpu) / 1000))
      this.#parts.applier.setShares(container, run.shares, 'policy', 'revised', activation);
  }

  /**
   * Books the differences of a fresh sample: throttling, waiting, kills. True when it tells of a
   * new OOM kill.
   */
  observe(container: Container, sample: UsageSample, fn: FunctionRecord): boolean {
    const { step } = fn;
    this.#sumCpu(container, sample.cpu);
    step.periods += Math.max(0, sample.periods - container.periods);
    step.throttledPeriods += Math.max(0, sample.throttledPeriods - container.throttledPeriods);
    if (sample.waiting >= 0 && container.waiting >= 0)
      step.waited += Math.max(0, sample.waiting - container.waiting) / 1000;
    if (sample.waiting >= 0) step.waits = true;
    container.periods = sample.periods;
    container.throttledPeriods = sample.throttledPeriods;
    container.waiting = sample.waiting;
    return this.#parts.oom.counted(container, sample.oomKills);
  }

  /**
   * Gives a container that an activation waits for the weight and quota of a cold start, once: from
   * its start, or from `/init` where it was prewarmed. OpenWhisk's own actions get none.
   */
  beginBoost(container: Container): void {
    const isDone =
      container.wasBoosted || container.revision !== null || container.role === 'system';
    if (isDone || !container.tapped || !this.#mayBoost()) return;
    const { containers, decider, applier, clock, counters } = this.#parts;
    const quota = decider.boost(container.state, clock.monotonic());
    container.boosted = true;
    container.wasBoosted = true;
    containers.watch(container);
    counters.boosts++;
    applier.setShares(container, container.state.shares, 'boost', 'cold_start', null);
    if (quota > container.info.user.quota)
      applier.setQuota(container, quota, 'boost', 'cold_start', null);
  }

  #sumCpu(container: Container, counter: number): void {
    if (counter < 0) return;
    if (container.cpuSummed >= 0 && counter > container.cpuSummed)
      this.usedCpu += counter - container.cpuSummed;
    container.cpuSummed = counter;
  }

  endBoost(container: Container, why: string): void {
    if (!container.boosted) return;
    container.boosted = false;
    const { decider, applier } = this.#parts;
    decider.boostEnded(container.state);
    applier.setShares(container, container.state.shares, 'boost', why, null);
    if (container.running === 0)
      applier.setQuota(container, container.info.user.quota, 'boost', why, null);
  }

  /**
   * Takes every limit of a container back to its user's; what runs in it goes on and teaches
   * nothing.
   */
  restore(container: Container, who: string, why: string): void {
    for (let each = container.newest; each !== null; each = each.older)
      each.limitsInterrupted = true;
    if (container.boosted) {
      container.boosted = false;
      this.#parts.decider.boostEnded(container.state);
    }
    container.limited = false;
    this.#parts.applier.restore(container, who, why);
    this.#parts.decider.userLimits(container.state, this.#parts.clock.monotonic());
    this.#grants.writeChanged();
  }

  // ---- steps of the above

  /**
   * Restores user limits first, in all of them, and closes the activations then. Returns how many
   * containers had other limits.
   */
  #untap(containers: readonly Container[], why: string): number {
    // At once, so that what one container frees is not lent to the next.
    for (const container of containers) container.tapped = false;
    let restored = 0;
    for (const container of containers) {
      container.initConnection = -1;
      container.initPending = false;
      if (!container.boosted && !container.limited && !this.#parts.applier.isChanged(container))
        continue;
      restored++;
      this.restore(container, 'restore', why);
    }
    for (const container of containers) this.tracker.endContainer(container, 'tap_lost', null);
    return restored;
  }

  /**
   * An activation whose `/init` fails gets no `/run`: this is all that is ever seen of it.
   * `status`: 0 without an answer.
   */
  #initFailed(container: Container, status: number): void {
    const { counters, clock } = this.#parts;
    const { initIdentity: identity, initName, initAt } = container;
    container.initPending = false;
    container.initIdentity = null;
    container.initName = null;
    container.initFailed = true;
    counters.started++;
    counters.ended++;
    counters.initFailed++;
    const revision = identity === null ? null : this.#identify(container, identity);
    if (identity === null || revision === null) {
      if (identity === null) counters.unreadableHead++;
      else counters.unknownFunction++;
      if (initName !== null) this.failedInits.add(container.info.name, initName, status, initAt);
      return;
    }
    const { fn } = revision;
    // At user limits, and nothing is learned: an initialization tells nothing of what `/run` needs.
    const run = new Run(revision.state, container.state);
    run.enforced = false;
    const ended: EndedActivation = {
      id: identity.activationId,
      run,
      revision,
      container,
      startedAt: initAt,
      duration: 0 as Micros,
      initMicros: container.initMicros,
      cold: true,
      reason: 'init_failed',
      status,
      clean: false,
    };
    container.initMicros = 0 as Micros;
    fn.step.record(ended, true, -1, clock.monotonic());
    fn.activations++;
    fn.explanations.record(ended);
    this.#stepped(fn);
  }

  #identify(container: Container, identity: Identity): Revision | null {
    const known = container.revision;
    if (known !== null && known.version === identity.version && known.fn.action === identity.action)
      return known;
    // A container serves one function for life: another name means that something is not what it
    // seems.
    if (known !== null) return null;
    const { functions, decider, clock } = this.#parts;
    const revision = functions.revision(
      identity.action,
      identity.version,
      container.info.user,
      clock.monotonic(),
    );
    if (revision === null) return null;
    container.revision = revision;
    container.state.assignFunction(revision.state, decider.capacity);
    revision.fn.containers++;
    return revision;
  }
}

function answered(activation: Activation): boolean {
  return activation.reason === 'answer' && activation.status >= 200 && activation.status < 300;
}

function outcomeOf(activation: Activation, killed: boolean): Outcome {
  const { reason } = activation;
  if (killed && !activation.shared) return 'oom';
  if (reason === 'answer') return answered(activation) ? 'success' : 'failure';
  return reason === 'closed' || reason === 'reset' || reason === 'container_end'
    ? 'failure'
    : 'unknown';
}

/** Busy CPU over the activation, millicores; -1 where it cannot be told. */
function busy(activation: Activation): number {
  const { startCpu, endCpu } = activation.run;
  if (startCpu < 0 || endCpu < startCpu || activation.duration <= 0) return -1;
  return ((endCpu - startCpu) / activation.duration) * 1000;
}
