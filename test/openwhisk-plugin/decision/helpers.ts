import {
  type Bytes,
  MIB,
  type Micros,
  type Millicores,
  type Millis,
  SeededRandom,
} from '../../../config/index.js';
import {
  type ActivationPolicy,
  type ContainerState,
  createPolicy,
  Decider,
  type DecisionSettings,
  defaultDecisionSettings,
  emptySample,
  type FunctionState,
  type HostCapacity,
  HostWeights,
  type PolicyContext,
  Run,
  type UsageSample,
  type UserLimits,
} from '../../../openwhisk-plugin/decision/index.js';
import { noOracle } from '../../../openwhisk-plugin/decision/policies/activation-policy.js';
import { DecayingHistogram } from '../../../openwhisk-plugin/decision/statistics.js';

/**
 * What OpenWhisk gives a container of `memory` MiB on an invoker with 2048 MiB of user-memory, with
 * a quota in cores (0 = none).
 */
export function limits(memory = 256, quotaCores = 0, shares = memory / 2): UserLimits {
  return {
    shares,
    quota: (quotaCores * 1000) as Millicores,
    memory: (memory * MIB) as Bytes,
    memoryAndSwap: (memory * MIB) as Bytes,
    periodMicros: 100_000,
  };
}

export function host(cores = 8, memory = 8192, userMemory = 2048): HostCapacity {
  return {
    cpu: (cores * 1000) as Millicores,
    allocatableCpu: (cores * 1000) as Millicores,
    memory: (memory * MIB) as Bytes,
    allocatableMemory: (userMemory * MIB) as Bytes,
  };
}

/**
 * No control arm unless asked for: tests of rules want every run to follow them. The thresholds are
 * those that the tests calculate with; the configuration's defaults may change.
 */
export const plain: DecisionSettings = {
  ...defaultDecisionSettings,
  thetaUser: 0.9,
  thetaSpike: 0.8,
  controlShare: 0,
  memoryReserve: 0 as Bytes,
};

export function decider(
  settings: Partial<DecisionSettings> = {},
  capacity = host(),
  policy = 'smallest-in-range',
  weight = 'short-first',
  weights = new HostWeights(),
): Decider {
  const policies = {
    quota: createPolicy(policy) as ActivationPolicy,
    weight: createPolicy(weight),
  };
  return new Decider(
    { ...plain, ...settings },
    capacity,
    policies,
    new SeededRandom(1),
    undefined,
    weights,
  );
}

/** An idle host without a trainer, as policies see it. */
const idle = {
  host: { running: 0, cpu: 8000, freeCpu: 1, freeMemory: 1 },
  experiences: null,
  commonWeight: 1,
  neutralWeight: 1,
  highestFactor: 4096,
  mostWeight: Number.POSITIVE_INFINITY,
  now: 0 as Millis,
  objective: Number.NaN,
  firstCpuTimes: new DecayingHistogram(),
};

/** What a policy may look at besides the run, on an idle host of eight cores. */
export const policyContext = (changes: Partial<PolicyContext> = {}): PolicyContext => ({
  settings: plain,
  random: new SeededRandom(7),
  reference: 100 as Millis,
  cores: 8,
  oracle: noOracle,
  ...idle,
  ...changes,
});

/** A container with an action in it, played by hand; times in ms, CPU in cores, memory in MiB. */
export class Player {
  readonly decider: Decider;
  readonly container: ContainerState;
  readonly fn: FunctionState;
  readonly run: Run;
  now = 1000;
  /** Bytes of the next activations' bodies. */
  payload = -1;
  #cpu = 0;
  #hits = 0;
  #throttled = 0;

  constructor(decider: Decider, user: UserLimits, action = '/guest/f') {
    this.decider = decider;
    this.container = decider.container(user);
    this.fn = decider.functionState(action, '0.0.1', user, this.now as Millis);
    this.run = new Run(this.fn, this.container);
  }

  start(now = this.now, enforced = true): Run {
    this.now = now;
    this.run.reset(this.fn, this.container);
    this.run.enforced = enforced;
    this.run.payload = this.payload as Bytes;
    this.run.startCpu = this.#cpu as Micros;
    this.decider.start(this.run, now as Millis);
    return this.run;
  }

  /** Time passes with `cores` busy; then the monitor reads. */
  sample(
    ms: number,
    cores: number,
    memory = 50,
    throttled = 0,
    hits = 0,
  ): ReturnType<Decider['sample']> {
    this.now += ms;
    this.#cpu += cores * ms * 1000;
    this.#throttled += throttled;
    this.#hits += hits;
    return this.decider.sample(this.run, this.usage(memory), this.now as Millis);
  }

  usage(memory: number): UsageSample {
    const usage = emptySample();
    usage.at = this.now as Millis;
    usage.cpu = this.#cpu as Micros;
    usage.workingSet = (memory * MIB) as Bytes;
    usage.throttledPeriods = this.#throttled;
    usage.limitHits = this.#hits;
    return usage;
  }

  finish(outcome: Parameters<Decider['finish']>[1] = 'success', clean = true): Run {
    this.run.endCpu = this.#cpu as Micros;
    this.decider.finish(
      this.run,
      outcome,
      this.now - this.run.startedAt,
      clean,
      this.now as Millis,
    );
    return this.run;
  }

  /**
   * A whole run of `ms` with a steady demand, throttled to what was granted; stops at a trip as the
   * hook would.
   */
  whole(ms: number, demand: number, memory = 50): Run {
    this.start(this.now + 10);
    for (let done = 0; done < ms; done += 100) {
      const cap = this.run.quota > 0 ? this.run.quota / 1000 : demand;
      this.sample(Math.min(100, ms - done), Math.min(cap, demand), memory, demand > cap ? 1 : 0);
    }
    return this.finish();
  }
}
