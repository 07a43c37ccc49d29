import type { Observation } from '../../broker/messages/index.js';
import type { Bytes, Millicores, Millis } from '../../config/index.js';
import { hashOf, SeededRandom } from '../../config/index.js';
import type { Engine } from '../nn/index.js';
import type { LearnerState, PpoMetrics, Trainer } from '../ppo/index.js';
import type { Cap, Decided, Decision, ResourceManager, View } from '../resource-manager.js';
import {
  apply,
  type Bounds,
  boundsOf,
  cpuTarget,
  directionsOf,
  executed,
  type Held,
  maskOf,
  SIMPPO_ACTIONS,
} from './actions.js';
import { newWeights, simppoShape } from './base-policy.js';
import type { BasePolicyStore } from './base-policy-store.js';
import { Episodes } from './episodes.js';
import { inputOf } from './features.js';
import { hostStateOf, slowdownIn } from './host-state.js';
import { LearningPolicy } from './learning-policy.js';
import { OwnPolicies } from './own-policies.js';
import type { OwnPolicyStore } from './own-policy-store.js';
import type { RetrainTrigger } from './retrain-trigger.js';
import { rewardOf } from './reward.js';
import { loadedState, savedState } from './saved-state.js';
import type { SimppoSettings } from './settings.js';
import { type OnHost, rateAfter, retrainingAfter, type SimppoState, withHost } from './state.js';
import type { TrajectoryStep } from './trajectory-step.js';

/** A base policy that has learned nothing here is looked for elsewhere so often, ms. */
const LOAD_INTERVAL = 600_000;
/** Steps are discounted as if they were at least and at most this long, in ordinary steps. */
const DISCOUNT_MIN = 0.1;
const DISCOUNT_MAX = 6;

export interface SimppoOptions {
  readonly name: string;
  readonly settings: SimppoSettings;
  readonly engine: Engine;
  readonly trainer: Trainer;
  /**
   * What functions start from, and what the sparse ones share. Null: untrained weights, by the
   * seed.
   */
  readonly base: LearnerState | null;
  readonly seed: number;
  readonly cap: Cap;
  /** Agents with weights of their own kept in memory. */
  readonly resident?: number;
  /** Of each update of the base policy. */
  readonly onUpdate?: (metrics: PpoMetrics) => void;
  readonly onReward?: (reward: number) => void;
  /** Of each step as it was executed, serving agents' too. */
  readonly onStep?: (step: TrajectoryStep) => void;
  /** Which agents learn anew, besides those told to (`retrain`). */
  readonly trigger?: RetrainTrigger;
  /** Where weights of functions' own go when they are no longer resident, and come from. */
  readonly ownPolicyStore?: OwnPolicyStore;
  /** Where the base policy goes with each update, and comes from when a host begins. */
  readonly basePolicyStore?: BasePolicyStore;
}

/**
 * SIMPPO (simppo-aware.md §1, design §4): each function's agent moves its limits by steps, sees the
 * others as one virtual agent, and learns by PPO. A function's small state goes in and out as with
 * any manager; weights stay here: own ones for functions called often, the base policy's for all
 * others. The same seed, observations and an inline trainer give the same decisions.
 */
export class SimppoManager implements ResourceManager<SimppoState> {
  readonly name: string;
  readonly base: LearningPolicy;
  readonly #options: SimppoOptions;
  readonly #own: OwnPolicies;
  readonly #episodes = new Episodes();
  readonly #random: SeededRandom;
  #seekAt = Number.NEGATIVE_INFINITY;
  readonly #mask = new Uint8Array(SIMPPO_ACTIONS.length);

  constructor(options: SimppoOptions) {
    this.#options = options;
    this.name = options.name;
    this.#random = new SeededRandom(options.seed);
    this.base = this.#policy(options.base ?? newWeights(options), 'base', (metrics) => {
      options.basePolicyStore?.save(this.base.state);
      options.onUpdate?.(metrics);
    });
    this.#own = new OwnPolicies({
      resident: options.resident ?? 1000,
      ownPolicyStore: options.ownPolicyStore,
      base: () => this.base.state,
      make: (fn, state) => {
        this.base.cutFunction(fn);
        return this.#policy(state, fn, () => this.#own.trained(fn));
      },
    });
  }

  initialState(fn: string): SimppoState {
    return {
      fn,
      phase: this.#options.settings.begin,
      rate: 0,
      retraining: null,
      hosts: {},
      reward: null,
    };
  }

  phase({ phase }: SimppoState): string {
    return phase;
  }

  /** Learns from now on, for some updates. */
  retrain(state: SimppoState): SimppoState {
    const retraining = {
      left: this.#options.settings.retrainUpdates,
      policyKind: 'base',
      updates: this.base.updates,
    } as const;
    return { ...state, phase: 'online', retraining };
  }

  saveState(state: SimppoState, now: Millis): unknown {
    return savedState(state, now);
  }

  loadState(fn: string, saved: unknown, now: Millis): SimppoState | null {
    return loadedState(fn, saved, this.initialState(fn), now);
  }

  decide(was: SimppoState, view: View, now: Millis): Decided<SimppoState> {
    const { settings, cap, trigger, onStep } = this.#options;
    const { observation } = view;
    const { host } = observation;
    this.#seekBase(now);
    this.#own.see(observation);
    const before = trigger?.shouldRetrain(observation) === true ? this.retrain(was) : was;
    const known = before.hosts[host];
    const seen = {
      ...hostStateOf(known, observation, this.#options.settings, now),
      last: known?.last ?? ([0, 0, 0] as const),
    };
    const rate = rateAfter(before, observation, now);
    const policy = this.#policyOf(before);
    const bounds = boundsOf(
      observation,
      { cpu: seen.cpuPeak, memory: seen.memoryPeak },
      cap,
      settings.actions,
    );
    // Nothing but control runs: no step, the wish stands.
    if (observation.activations === 0) {
      const state = { ...before, rate, hosts: withHost(before.hosts, host, seen) };
      return { state, decision: decisionOf(0, seen.held, bounds, observation, settings) };
    }
    const trajectory = `${before.fn} ${host}`;
    const slowdown = slowdownIn(observation, seen);
    const reward = this.#learn(policy, trajectory, view, known, seen, slowdown, now);
    const retraining = retrainingAfter(before.retraining, this.#policyKind(policy), policy.updates);
    const phase = retraining?.left === 0 ? 'serving' : before.phase;
    const mask = maskOf(seen.held, bounds, observation, settings.actions, this.#mask);
    const remembered = { held: seen.held, rates: [known?.rate ?? 0, seen.rate] as const, slowdown };
    const input = inputOf(view, remembered, bounds, settings.virtual);
    const online = phase === 'online';
    const { action } = policy.policy.decide(input, mask, online ? this.#random : undefined);
    if ((online || onStep !== undefined) && action !== null) {
      const logProbabilities = Float64Array.from(SIMPPO_ACTIONS, (_, i) =>
        policy.policy.logProbability(i),
      );
      const reversed = isReversal(seen.last, directionsOf(action));
      const { held } = seen;
      policy.decided(trajectory, {
        input,
        mask: mask.slice(),
        action,
        logProbabilities,
        at: now,
        held,
        reversed,
        sampled: online,
      });
    } else this.#cut(policy, trajectory);
    // No sound action: what is held stays.
    const target = apply(action ?? 0, seen.held, bounds, observation, settings.actions);
    const hosts = withHost(before.hosts, host, {
      ...seen,
      held: target,
      last: directionsOf(action ?? 0),
    });
    const state: SimppoState = {
      ...before,
      phase,
      rate,
      retraining: phase === 'serving' ? null : retraining,
      hosts,
      reward: reward ?? before.reward,
    };
    const decision = decisionOf(action ?? 0, target, bounds, observation, settings);
    return reward === null ? { state, decision } : { state, decision, reward };
  }

  /** Closes all trajectories: what comes next has nothing to do with what was. */
  endEpisode(): void {
    this.base.cutAll();
    for (const policy of this.#own.values()) policy.cutAll();
  }

  /**
   * Outcome of the step before this observation, into the rollout: as it was executed. Null: there
   * is none.
   */
  #learn(
    policy: LearningPolicy,
    trajectory: string,
    view: View,
    known: OnHost | undefined,
    seen: OnHost,
    slowdown: number,
    now: Millis,
  ): number | null {
    const { settings, onReward, onStep } = this.#options;
    const pending = policy.pending(trajectory);
    if (pending === null || known === undefined) return null;
    const span = now - pending.at;
    if (span > settings.staleMs || view.observation.mode !== 'enforce') {
      this.#cut(policy, trajectory);
      return null;
    }
    const done = executed(
      pending.action,
      pending.held,
      seen.held,
      view.observation,
      settings.actions,
    );
    const reward = rewardOf(view, slowdown, pending.reversed, settings.reward);
    onReward?.(reward);
    const length = Math.min(DISCOUNT_MAX, Math.max(DISCOUNT_MIN, span / settings.stepMs));
    const step = policy.record(trajectory, done, reward, settings.ppo.gamma ** length);
    if (step === null) this.#episodes.cut(trajectory);
    else if (onStep !== undefined) {
      const { actorInput: state, mask, action, logProbability, discount } = step;
      const invoker = view.observation.host;
      const { sampled } = pending;
      const policyKind = this.#policyKind(policy);
      const count = {
        ...this.#episodes.take(trajectory),
        policy: policyKind,
        updates: policy.updates,
        sampled,
      } as const;
      const about = { fn: view.observation.function, manager: this.name, invoker, span };
      onStep({ ...about, ...count, state, mask, action, logProbability, reward, discount });
    }
    return reward;
  }

  /**
   * What hosts have learned before this one has: at its first step, and in case that fails, or
   * another host learns, now and then.
   */
  #seekBase(now: Millis): void {
    const { basePolicyStore } = this.#options;
    if (basePolicyStore === undefined || this.base.updates > 0 || now < this.#seekAt) return;
    this.#seekAt = now + LOAD_INTERVAL;
    basePolicyStore.load((state) => {
      const ahead = state !== null && state.counters.updates > this.base.state.counters.updates;
      if (ahead && this.base.updates === 0) this.base.import(state);
    });
  }

  #cut(policy: LearningPolicy, trajectory: string): void {
    if (policy.pending(trajectory) !== null) this.#episodes.cut(trajectory);
    policy.cut(trajectory);
  }

  #policyKind(policy: LearningPolicy): 'own' | 'base' {
    return policy === this.base ? 'base' : 'own';
  }

  /** A function called often learns for itself. */
  #policyOf({ fn, rate, phase }: SimppoState): LearningPolicy {
    const own = this.#own.get(fn);
    if (own !== undefined || rate < this.#options.settings.ownRate) return own ?? this.base;
    this.#own.load(fn);
    return phase === 'online' ? this.#own.begin(fn) : this.base;
  }

  #policy(
    state: LearnerState,
    label: string,
    onUpdate?: (metrics: PpoMetrics) => void,
  ): LearningPolicy {
    const { engine, settings, trainer } = this.#options;
    const shape = simppoShape(settings);
    return new LearningPolicy({
      engine,
      shape,
      settings,
      trainer,
      state,
      seed: (this.#options.seed + hashOf(label)) >>> 0,
      onUpdate,
    });
  }
}

const isReversal = (before: readonly number[], now: readonly number[]): boolean =>
  now.some((direction, i) => direction * before[i]! < 0);

function decisionOf(
  action: number,
  held: Held,
  bounds: Bounds,
  observation: Observation,
  settings: SimppoSettings,
): Decision {
  const { dimensions } = settings.actions;
  const { cpu, memory, containers } = held;
  const byWeight = observation.cpuMode === 'weight';
  return {
    ...(!dimensions.cpu
      ? {}
      : byWeight
        ? { weightFactor: cpu }
        : { cpu: cpuTarget(held, bounds, settings.actions) as Millicores }),
    ...(dimensions.memory ? { memory: Math.round(memory) as Bytes } : {}),
    ...(dimensions.containers ? { containers } : {}),
    actions: directionsOf(action),
  };
}
