import type { Bytes, Millicores, Millis, Random } from '../../config/index.js';
import { chooseCpu, chooseMemory, chooseUserCpu, chooseWeight, takeWeight } from './choice.js';
import { ContainerShares } from './container-shares.js';
import type { Run } from './container-state.js';
import { ContainerState } from './container-state.js';
import { controlShare, Objectives } from './control-arm.js';
import { FunctionState, FunctionTable } from './function-state.js';
import type { Grant } from './grant.js';
import { HarvestPool } from './harvest-pool.js';
import { MemoryHeadroom } from './headroom.js';
import { type GrantChange, HostGrants, settle } from './host-grants.js';
import { HostReference } from './host-reference.js';
import { HostWeights } from './host-weights.js';
import { cpuTimeOf } from './late-cpu.js';
import { learnFailure, learnOom, learnSuccess } from './learning.js';
import { NO_LIMIT, type UserLimits } from './limits.js';
import { MemoryLoans } from './memory-loans.js';
import {
  type ActivationPolicy,
  noOracle,
  type Oracle,
  type PolicyContext,
} from './policies/activation-policy.js';
import type { ExperienceListener } from './policies/faasrm/experience.js';
import { type Policies, PoliciesInUse } from './policies-in-use.js';
import { removeAt } from './remove-at.js';
import { cpuSpikeLevel, memorySpikeLevel } from './safeguard.js';
import type { DecisionSettings, HostCapacity } from './settings.js';
import { copySample, type UsageSample } from './usage-sample.js';
import { closeWindow, openWindow, watchMemory } from './usage-window.js';

/** How an activation ended. `unknown`: its end was not seen, so it is not used for learning. */
export type Outcome = 'success' | 'failure' | 'unknown' | 'oom';

/** User limits that the mid-run safeguard has restored in the run's outputs: write them at once. */
export type SampleAction = 'none' | 'restore_cpu' | 'restore_memory' | 'restore_both';

/** Expected length of a run of a function never seen, ms. */
const UNKNOWN_DURATION = 1000;
/**
 * The weight policies' reference stands above the functions' mean, so that few functions stand
 * below their own weight; measured: docs/decisions/0014-range-and-reference.md. Beside functions
 * that keep their own weights it would make those wait.
 */
const REFERENCE_MULTIPLE = 5;

/** For a late activation: without a factor its weight is neutral. */
const NEUTRAL = { revise: () => Number.NaN };

/**
 * Every decision about activations on one host, without clock, I/O or allocation per activation.
 * Times are readings of one monotonic clock, ms. Call `takeChanged`
 * and `weights.lower` after each change.
 */
export class Decider {
  readonly capacity: HostCapacity;
  readonly functions: FunctionTable;
  readonly cpuPool: HarvestPool<ContainerState>;
  /** Policy `faasrm`: what containers hold of the allocatable memory, for their whole life. */
  readonly memoryPool: HarvestPool<ContainerState>;
  /** Policy `guarantee`; the hook reports invokers and memory in use to it. */
  readonly headroom: MemoryHeadroom;
  readonly reference = new HostReference();
  readonly weights: HostWeights;
  readonly shares: ContainerShares;
  readonly objectives = new Objectives();
  readonly #policies: PoliciesInUse;
  readonly #grants: HostGrants;
  readonly #loans: MemoryLoans;
  readonly #context: PolicyContext;

  constructor(
    settings: DecisionSettings,
    capacity: HostCapacity,
    policies: Policies,
    random: Random,
    headroom = new MemoryHeadroom(
      capacity.memory,
      settings.memoryReserve,
      capacity.allocatableMemory,
    ),
    weights = new HostWeights(),
  ) {
    this.capacity = capacity;
    this.#policies = new PoliciesInUse(policies);
    this.headroom = headroom;
    this.weights = weights;
    this.functions = new FunctionTable(settings.maxFunctions, (fn) => this.reference.remove(fn));
    this.cpuPool = new HarvestPool(capacity.allocatableCpu, settings.cpuReserve);
    this.memoryPool = new HarvestPool(capacity.allocatableMemory, settings.memoryReserve);
    this.#grants = new HostGrants(this.cpuPool, this.memoryPool);
    const cores = capacity.cpu / 1000;
    this.#loans = new MemoryLoans(headroom);
    const host = { running: 0, cpu: 0, freeCpu: 0, freeMemory: 0 };
    this.#context = {
      settings,
      random,
      reference: Number.NaN as Millis,
      firstCpuTimes: this.reference.firstCpuTimes,
      now: 0 as Millis,
      objective: Number.NaN,
      commonWeight: 1,
      neutralWeight: 1,
      highestFactor: this.weights.highest,
      mostWeight: Number.POSITIVE_INFINITY,
      cores,
      oracle: noOracle,
      host,
      experiences: null,
    };
    this.shares = new ContainerShares(weights, this.#policies, this.#context, capacity.cpu);
  }

  get settings(): DecisionSettings {
    return this.#context.settings;
  }

  /** A reload: counts from the next decision on. */
  set settings(settings: DecisionSettings) {
    this.#context.settings = settings;
    this.cpuPool.resize(this.capacity.allocatableCpu, settings.cpuReserve);
    this.headroom.reserve = settings.memoryReserve;
    this.#sizeMemoryPool();
  }

  get policies(): Policies {
    return this.#policies.host;
  }

  set policies(policies: Policies) {
    this.#policies.host = policies;
  }

  /** `policy` null: the host's. */
  setFunctionPolicy(fn: FunctionState, policy: ActivationPolicy | null): void {
    this.#policies.setOwn(fn, policy);
  }

  policyName(run: Run): string {
    return this.#policies.of(run).name;
  }

  /** What only a simulator knows: for policies that are bounds. */
  set oracle(oracle: Oracle) {
    this.#context.oracle = oracle;
  }

  /** Receives the outcomes of the choices of a policy that explores; null: no trainer. */
  set experiences(experiences: ExperienceListener | null) {
    this.#context.experiences = experiences;
  }

  functionState(action: string, version: string, user: UserLimits, now: Millis): FunctionState {
    const known = this.functions.get(action, version, user);
    if (known) return known;
    const fn = new FunctionState(
      action,
      version,
      user,
      this.settings.memoryPolicy,
      this.settings.alpha,
    );
    fn.lastStart = now;
    this.functions.put(fn);
    return fn;
  }

  /** For a container that has started, or was found running. `ended`: one to use again. */
  container(user: UserLimits, ended: ContainerState | null = null): ContainerState {
    const container = ended ?? new ContainerState(user, this.capacity);
    ended?.reset(user, this.capacity);
    this.#sizeMemoryPool();
    this.memoryPool.begin(container.memory, user.memory, user.memory, Number.POSITIVE_INFINITY);
    return container;
  }

  /** The container ended and frees all it held. Its runs still have to be finished. */
  containerEnded(container: ContainerState): void {
    this.#loans.end(container);
    this.shares.endBoost(container);
    this.cpuPool.end(container.cpu);
    this.memoryPool.end(container.memory);
  }

  /** Fills the run's decision and takes from the pools. */
  start(run: Run, now: Millis): void {
    const { fn, container } = run;
    const settings = this.settings;
    // Also if alone: a reload may have changed the function's settings.
    if (container.fn !== fn || container.runs.length === 0)
      container.assignFunction(fn, this.capacity);
    if (container.boostUntil > 0) this.shares.endBoost(container);
    run.cpu.reset(container.userCpu);
    run.memory.reset(container.user.memory);
    run.startedAt = now;
    run.countedTo = now;
    openWindow(run, run.startCpu, now);
    // Drawn always, so that a seed gives one sequence.
    const drawn = this.#context.random.next() < controlShare(fn, settings);
    const others = container.runs.length;
    run.control = drawn && others === 0;
    if (others > 0) this.#join(run);
    container.runs.push(run);

    this.#context.reference = (
      settings.referenceCpuTime > 0
        ? settings.referenceCpuTime
        : this.reference.value * (this.weights.mayRaise ? REFERENCE_MULTIPLE : 1)
    ) as Millis;
    run.expectedCpu = settings.payloadAware ? fn.cpuByPayload.predict(run.payload) : Number.NaN;
    this.#fillHostSnapshot();
    this.#readWeights(container);
    this.#readDeadline(fn, now);
    const policies = this.#policies;
    if (container.mode === 'quota') chooseCpu(run, policies.rangeOf(run), this.#context, now);
    else chooseUserCpu(run, this.#context, now);
    chooseWeight(run, policies.weightOf(run), this.#context, !(this.weights.inForce > 0));
    chooseMemory(run, policies.memoryOf(run), this.#context, now);

    const expected = fn.duration.mean;
    const end = now + (expected > 0 ? expected : UNKNOWN_DURATION);
    this.#grants.takeCpu(run, others > 0, end, settings.concurrentStep);
    this.#grants.takeMemory(run, others > 0, end);
    this.#count(run);
    this.weights.update(container);
  }

  /** Lets the weight policy choose again after `used` CPU-ms. True: write `run.shares`. */
  revise(run: Run, used: number, now: Millis): boolean {
    const policy = this.#reviser(run);
    if (policy?.revise === undefined) return false;
    const before = run.shares;
    this.#readWeights(run.container);
    this.#readDeadline(run.fn, now);
    takeWeight(run, policy.revise(run, used, this.#context), this.#context);
    run.container.shares = run.shares;
    this.weights.update(run.container);
    return run.shares !== before;
  }

  /** CPU-ms at which `revise` would give another answer; Infinity = never. */
  revisesAt(run: Run, used: number): number {
    return this.#reviser(run)?.revisesAt?.(run, used, this.#context) ?? Number.POSITIVE_INFINITY;
  }

  /** The function's memory peak on another host, bytes. The published rules know one host. */
  sharedMemoryPeak(fn: FunctionState, peak: number, now: Millis): void {
    if (this.settings.preset === 'default') fn.memoryPeak.raise(peak, now, this.settings.halfLife);
  }

  /** The mid-run safeguard, and the peaks. `usage` is the container's, read about now. */
  sample(run: Run, usage: UsageSample, now: Millis): SampleAction {
    const container = run.container;
    const settings = this.settings;
    const last = container.last;
    const known = container.read;
    if (usage.frozen) {
      // Time paused is not run time.
      openWindow(run, usage.cpu, usage.at);
      this.#keep(run, usage);
      return 'none';
    }
    const busy = closeWindow(run, usage.cpu, usage.at, settings.minimumWindow);
    watchMemory(run, usage, last);
    const throttled = known && usage.throttledPeriods > last.throttledPeriods;
    const hits = known ? Math.max(0, usage.limitHits - last.limitHits) : 0;
    run.limitHits += hits;
    const { cpu } = run;
    // A throttled period has used its whole limit. Limits may have changed since the last reading:
    // assume the lowest.
    if (throttled && container.mode === 'quota' && run.enforced && cpu.peak < run.minCpuLimit)
      cpu.peak = run.minCpuLimit;
    run.minCpuLimit = cpu.granted;
    const cpuSpike = cpuSpikeLevel(run, settings);
    const memorySpike = memorySpikeLevel(run, settings);
    const tripCpu = cpuSpike < Number.POSITIVE_INFINITY && (throttled || busy >= cpuSpike);
    const tripMemory =
      memorySpike < Number.POSITIVE_INFINITY && (hits > 0 || usage.workingSet >= memorySpike);
    this.#keep(run, usage);
    if (!tripCpu && !tripMemory) return 'none';
    if (tripCpu) this.#grants.restoreCpu(container, now, true);
    if (tripMemory) this.#grants.restoreMemory(container, now, true);
    run.fn.tripped++;
    return tripCpu ? (tripMemory ? 'restore_both' : 'restore_cpu') : 'restore_memory';
  }

  /**
   * The activation ended (`clean`: by its answer, with nothing lost), or it was given up
   * (`unknown`). `durationMs` from the kernel's stamps, NaN = unknown. Frees the grant: call it
   * only when the container stops working for it.
   */
  finish(run: Run, outcome: Outcome, durationMs: number, clean: boolean, now: Millis): void {
    const { container } = run;
    const settings = this.settings;
    const place = container.runs.indexOf(run);
    if (place < 0) return;
    closeWindow(run, run.endCpu, now, settings.minimumWindow);
    settle(run, now);
    run.saved = run.cpu.user > 0 ? (run.accelerated * 1000) / run.cpu.user : 0;
    removeAt(container.runs, place);
    this.weights.update(container);
    const next = container.runs[0];
    if (next === undefined) {
      this.cpuPool.end(container.cpu);
      if (container.memory.active)
        this.memoryPool.change(container.memory, container.user.memory, Number.POSITIVE_INFINITY);
    } else if (place === 0) {
      next.countedTo = now;
      if (run.endCpu >= 0) openWindow(next, run.endCpu, now);
    }
    if (outcome === 'failure' || outcome === 'oom') {
      learnFailure(run, settings, now);
    } else if (outcome === 'success' && clean) {
      learnSuccess(run, durationMs, cpuTimeOf(run), settings, this.reference, this.objectives, now);
      if (run.concurrency === 1)
        this.#policies.of(run).learn?.(run, durationMs, this.#context, now);
    }
  }

  /** An OOM kill, with the limit that was in force. It may be reported late, or without a run. */
  oom(fn: FunctionState, limitAtKill: Bytes, now: Millis): void {
    learnOom(fn, limitAtKill, this.settings, now);
  }

  /** {@link MemoryLoans.lend} */
  memoryLoan(container: ContainerState, fn: FunctionState, ceiling?: () => Bytes): Bytes {
    return this.#loans.lend(container, fn, this.settings, ceiling);
  }

  /** {@link MemoryLoans.takeBack} */
  takeBackLoan(run: Run): boolean {
    return this.#loans.takeBack(run);
  }

  /** The write of a lowered limit failed: the user's limit is in force. */
  refused(run: Run, resource: 'cpu' | 'memory', now: Millis): void {
    if (resource === 'cpu') {
      if (run.cpu.reduced) this.#grants.restoreCpu(run.container, now, false);
    } else if (run.memory.reduced) this.#grants.restoreMemory(run.container, now, false);
  }

  /** User limits were restored from outside (kill switch, mode, unknown request). */
  userLimits(container: ContainerState, now: Millis): void {
    this.#grants.userLimits(container, now);
    this.shares.restoreUser(container);
  }

  /** {@link MemoryLoans.found} */
  foundLoan(container: ContainerState, amount: Bytes): void {
    this.#loans.found(container, amount);
  }

  /** Lends free CPU, and visits containers whose runs' limits have changed. */
  takeChanged(visit: (container: ContainerState, why: GrantChange) => void): void {
    // The published presets act only between runs.
    this.#grants.takeChanged(this.settings.midRun, visit);
  }

  /** The objective for agents, ms: a guess while control samples are few; NaN = unknown. */
  slo(fn: FunctionState): number {
    return this.objectives.provisionalSlo(fn, this.settings);
  }

  #readDeadline(fn: FunctionState, now: Millis): void {
    this.#context.now = now;
    this.#context.objective = this.objectives.slo(fn, this.settings);
  }

  /** The policy of a run whose weight may change while it goes on; null: it may not. */
  #reviser(run: Run): Pick<ActivationPolicy, 'revise' | 'revisesAt'> | null {
    const { container } = run;
    if (run.control || container.runs.length !== 1 || container.boostUntil > 0) return null;
    if (this.settings.preset !== 'default') return null;
    if (run.late) return NEUTRAL;
    return run.enforced ? this.#policies.weightOf(run) : null;
  }

  /** Policy `faasrm` lends at most the invokers' user-memory; nothing while that is unknown. */
  #sizeMemoryPool(): void {
    const known = this.headroom.userMemory;
    const allocatable = known > 0 ? Math.min(known, this.capacity.allocatableMemory) : 0;
    this.memoryPool.resize(allocatable, this.settings.memoryReserve);
  }

  #readWeights(container: ContainerState): void {
    const context = this.#context;
    context.commonWeight = this.shares.commonWeight;
    context.neutralWeight = this.weights.neutral(context.commonWeight);
    context.highestFactor = this.weights.highest;
    context.mostWeight = this.weights.most(container);
  }

  #fillHostSnapshot(): void {
    const { host } = this.#context;
    const { allocatableCpu, allocatableMemory } = this.capacity;
    host.running = this.cpuPool.allocations;
    host.cpu = allocatableCpu;
    host.freeCpu = this.cpuPool.free / allocatableCpu;
    host.freeMemory = this.memoryPool.free / allocatableMemory;
  }

  /** Another run is in the container: limits are the container's, so neither can be a control. */
  #join(run: Run): void {
    const container = run.container;
    container.concurrent = true;
    const together = container.runs.length + 1;
    run.concurrency = together;
    for (const other of container.runs) {
      other.control = false;
      if (other.concurrency < together) other.concurrency = together;
    }
  }

  /** The outputs, and the counters of starts. */
  #count(run: Run): void {
    const { fn, container } = run;
    if (run.enforced || run.late) container.shares = run.shares;
    run.quota = (container.mode === 'weight' ? NO_LIMIT : run.cpu.granted) as Millicores;
    // The first reading may count a throttled period of the container's previous run, which had at
    // most the user's limit.
    run.minCpuLimit = Math.min(run.cpu.granted, run.cpu.user);
    run.memoryLimit = Math.floor(run.memory.granted) as Bytes;
    if (run.isRest) return;
    fn.started++;
    fn.lastStart = run.startedAt;
    if (run.control) fn.controlled++;
    else if (isSafeguard(run.cpu) || isSafeguard(run.memory)) fn.safeguarded++;
  }

  #keep(run: Run, usage: UsageSample): void {
    copySample(usage, run.container.last);
    run.container.read = true;
  }
}

function isSafeguard(grant: Grant): boolean {
  return grant.reason === 'failure' || grant.reason === 'spike' || grant.reason === 'after_oom';
}
