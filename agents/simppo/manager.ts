import type { Millis } from '../../config/index.js';
import { hashOf, SeededRandom } from '../../config/index.js';
import type { Engine } from '../nn/index.js';
import type { LearnerState, PpoMetrics, Trainer } from '../ppo/index.js';
import type { Cap, Decided, ResourceManager, View } from '../resource-manager.js';
import { cpuTarget, executed, SIMPPO_ACTIONS } from './actions.js';
import { newWeights, simppoShape } from './base-policy.js';
import type { BasePolicyStore } from './base-policy-store.js';
import { EpisodeCounter } from './episode-counter.js';
import { situationOf } from './host-state.js';
import { LearningPolicy } from './learning-policy.js';
import { OwnPolicies } from './own-policies.js';
import type { OwnPolicyStore } from './own-policy-store.js';
import type { RetrainTrigger } from './retrain-trigger.js';
import { rewardOf } from './reward.js';
import { loadedState, savedState } from './saved-state.js';
import type { SimppoSettings } from './settings.js';
import { type OnHost, rateAfter, retrainingAfter, type SimppoState, withHost } from './state.js';
import { decisionOf, takeStep } from './step.js';
import type { TrajectoryStep } from './trajectory-step.js';

/** Interval of looking for a stored base policy, while this host has learned nothing, ms. */
const LOAD_INTERVAL = 600_000;
/** Bounds of a step's length for discounting, in ordinary steps. */
const DISCOUNT_MIN = 0.1;
const DISCOUNT_MAX = 6;

export interface SimppoOptions {
  readonly name: string;
  readonly settings: SimppoSettings;
  readonly engine: Engine;
  readonly trainer: Trainer;
  /** Initial weights of all functions, shared by the rare ones. Null: untrained, by the seed. */
  readonly base: LearnerState | null;
  readonly seed: number;
  readonly cap: Cap;
  /** Largest number of own policies in memory. */
  readonly resident?: number;
  readonly onUpdate?: (metrics: PpoMetrics) => void;
  readonly onReward?: (reward: number) => void;
  /** Each executed step, of serving agents too. */
  readonly onStep?: (step: TrajectoryStep) => void;
  /** Makes agents retrain, besides an operator's `retrain`. */
  readonly trigger?: RetrainTrigger;
  /** Stores own policies that are no longer resident. */
  readonly ownPolicyStore?: OwnPolicyStore;
  /** Stores the base policy at each update, for hosts that start later. */
  readonly basePolicyStore?: BasePolicyStore;
}

/**
 * SIMPPO [SIMPPO]: each function's agent moves its limits by steps, sees all others as one virtual
 * agent, and learns by PPO. Functions with many activations have their own policy, all others share
 * the base policy. With an inline trainer runs are repeatable.
 */
export class SimppoManager implements ResourceManager<SimppoState> {
  readonly name: string;
  readonly base: LearningPolicy;
  readonly #options: SimppoOptions;
  readonly #own: OwnPolicies;
  readonly #episodes = new EpisodeCounter();
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
    const { settings, trigger, onStep } = this.#options;
    const { observation } = view;
    const { host } = observation;
    this.#seekBase(now);
    this.#own.see(observation);
    const before = trigger?.shouldRetrain(observation) === true ? this.retrain(was) : was;
    const known = before.hosts[host];
    const situation = situationOf(known, view, this.#options, now);
    const { slowdown, bounds, input } = situation;
    const seen = { ...situation.seen, last: known?.last ?? ([0, 0, 0] as const) };
    const rate = rateAfter(before, observation, now);
    const policy = this.#policyOf(before);
    // Only control runs: no step, and the target is unchanged.
    if (observation.activations === 0) {
      const state = { ...before, rate, hosts: withHost(before.hosts, host, seen) };
      const step = { held: seen.held, directions: [0, 0, 0] } as const;
      const cpu = cpuTarget(seen.held, bounds, settings.actions);
      return { state, decision: decisionOf(step, cpu, observation, settings.actions) };
    }
    const trajectory = `${before.fn} ${host}`;
    const reward = this.#learn(policy, trajectory, view, known, seen, slowdown, now);
    const retraining = retrainingAfter(before.retraining, this.#policyKind(policy), policy.updates);
    const phase = retraining?.left === 0 ? 'serving' : before.phase;
    const online = phase === 'online';
    const standing = { ...seen, bounds, cpuMode: observation.cpuMode };
    const step = takeStep(standing, settings.actions, this.#mask, (mask) =>
      policy.policy.decide(input, mask, online ? this.#random : undefined),
    );
    const { action, held, directions: last } = step;
    if ((online || onStep !== undefined) && action !== null) {
      policy.decided(trajectory, {
        input,
        mask: this.#mask.slice(),
        action,
        logProbabilities: policy.policy.logProbabilities,
        at: now,
        held: seen.held,
        reversed: step.isReversal,
        sampled: online,
      });
    } else this.#cut(policy, trajectory, input);
    const hosts = withHost(before.hosts, host, { ...seen, held, last });
    const state: SimppoState = {
      ...before,
      phase,
      rate,
      retraining: phase === 'serving' ? null : retraining,
      hosts,
      reward: reward ?? before.reward,
    };
    const cpu = cpuTarget(held, bounds, settings.actions);
    const decision = decisionOf(step, cpu, observation, settings.actions);
    return reward === null ? { state, decision } : { state, decision, reward };
  }

  /** Closes all trajectories: the next steps do not follow from the last. */
  endEpisode(): void {
    this.base.cutAll();
    for (const policy of this.#own.values()) policy.cutAll();
  }

  /** Records the step before this observation as it was executed. Null: there is none. */
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
    if (span > settings.hook.targetStale || view.observation.mode !== 'enforce') {
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
      const { input: state, mask, action, logProbability, discount } = step;
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

  /** Loads what other hosts have learned, from time to time until this host has learned itself. */
  #seekBase(now: Millis): void {
    const { basePolicyStore } = this.#options;
    if (basePolicyStore === undefined || this.base.updates > 0 || now < this.#seekAt) return;
    this.#seekAt = now + LOAD_INTERVAL;
    basePolicyStore.load((state) => {
      const ahead = state !== null && state.counters.updates > this.base.state.counters.updates;
      if (ahead && this.base.updates === 0) this.base.import(state);
    });
  }

  #cut(policy: LearningPolicy, trajectory: string, after?: Float32Array): void {
    if (policy.pending(trajectory) !== null) this.#episodes.cut(trajectory);
    policy.cut(trajectory, after);
  }

  #policyKind(policy: LearningPolicy): 'own' | 'base' {
    return policy === this.base ? 'base' : 'own';
  }

  /** A function with many activations learns its own policy. */
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
