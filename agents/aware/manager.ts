import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Observation } from '../../broker/messages/index.js';
import { hashOf, type Millis, messageOf } from '../../config/index.js';
import { sloPreservation } from '../features.js';
import type { Engine } from '../nn/index.js';
import type { LearnerState } from '../ppo/index.js';
import type { Cap, Decided, Decision, ResourceManager, View } from '../resource-manager.js';
import {
  actionBoundsOf,
  apply,
  executed,
  type HostState,
  hostStateOf,
  inputOf,
  maskOf,
  rewardOf,
  SIMPPO_ACTIONS,
  type SimppoSettings,
  slowdownIn,
  withHost,
} from '../simppo/index.js';
import { type AwareBase, beginFromMostSimilar, type Companion, companionOf } from './companion.js';
import {
  actorOf,
  agentActs,
  beginLifeCycleRun,
  decodeLifeCycle,
  encodeLifeCycle,
  LIFE_CYCLE_INITIAL,
  LIFE_CYCLE_RUN_INITIAL,
  type LifeCycleLearner,
  type LifeCycleOverrides,
  type LifeCycleRunState,
  type LifeCycleSettings,
  type LifeCycleTransition,
  lifeCycleRunStep,
  lifeCycleSettings,
  type OfflineTrainer,
  phaseOf,
  retrainLifeCycleRun,
  windowFigures,
} from './life-cycle/index.js';
import type { Encoder } from './meta-learner/index.js';
import { decisionFor, factorOf, nearestAction } from './steps.js';

export interface AwareOptions {
  readonly base: AwareBase;
  /** The meta-learner; null: agents know nothing but their own features. */
  readonly encoder: Encoder | null;
  readonly fallback: ResourceManager;
  readonly settings: SimppoSettings;
  readonly lifeCycle?: LifeCycleSettings;
  readonly lifeCycleOverrides?: (fn: string) => LifeCycleOverrides;
  readonly engine: Engine;
  readonly cap: Cap;
  readonly seed: number;
  /**
   * What an agent starts from, by the mode of its host; null: nothing, and it follows the
   * fallback's actions first.
   */
  readonly start: (mode: Observation['cpuMode']) => LearnerState | null;
  /** Agents whose weights are kept in memory. */
  readonly resident?: number;
  /** Where agents learn; absent: where they decide, at once. */
  readonly offlineTrainer?: OfflineTrainer;
}

/** A step whose outcome is not known yet. */
interface Pending {
  readonly input: readonly number[];
  readonly mask: readonly number[];
  /** Of the agent; null: the fallback acted. */
  readonly action: number | null;
  readonly held: HostState['held'];
  readonly at: Millis;
}

export interface AwareState {
  readonly fn: string;
  readonly lifeCycleRun: LifeCycleRunState;
  readonly fallback: unknown;
  /** Transitions that no decision has told of yet. */
  readonly unreported: readonly LifeCycleTransition[];
  readonly hosts: Readonly<Record<string, HostState & { readonly pending: Pending | null }>>;
}

const RESIDENT = 256;

const savedStateSchema = z.object({
  life: z.string().max(64 * 1024),
  actor: z.string(),
  critic: z.string(),
});

/**
 * AWARE (simppo-aware.md §3): the fallback decides for a new function while an agent of its own
 * watches; the agent takes over when it would earn as much, guarded; it serves when it has settled,
 * and learns again when its world changes. A function's place in that is its state; weights stay
 * here, and go along when it rests.
 */
export class AwareManager implements ResourceManager<AwareState> {
  readonly name = 'aware';
  readonly #options: AwareOptions;
  readonly #lifeCycle: LifeCycleSettings;
  readonly #companions: LRUCache<string, Companion>;

  constructor(options: AwareOptions) {
    this.#options = options;
    this.#lifeCycle = options.lifeCycle ?? lifeCycleSettings;
    this.#companions = new LRUCache({
      max: Math.max(1, options.resident ?? RESIDENT),
      dispose: ({ learner }) => learner.dispose(),
    });
  }

  initialState(fn: string): AwareState {
    const { state: lifeCycleRun, transitions: unreported } = beginLifeCycleRun(
      LIFE_CYCLE_RUN_INITIAL,
      this.#target(fn),
    );
    return {
      fn,
      lifeCycleRun,
      fallback: this.#options.fallback.initialState(fn),
      unreported,
      hosts: {},
    };
  }

  phase({ lifeCycleRun }: AwareState): string {
    return lifeCycleRun.life.phase === 'online' && lifeCycleRun.guard.fallbackActs
      ? 'guarded'
      : phaseOf(lifeCycleRun);
  }

  retrain(state: AwareState): AwareState {
    const { state: lifeCycleRun, transitions } = retrainLifeCycleRun(state.lifeCycleRun);
    return { ...state, lifeCycleRun, unreported: [...state.unreported, ...transitions] };
  }

  about({ fn, lifeCycleRun }: AwareState): string {
    const { life, steps } = lifeCycleRun;
    const { episodes, inPhase, returns, estimates, fallback, reference } = life;
    const mean = (values: readonly number[]): string => windowFigures(values).mean.toFixed(3);
    const parts = [
      `${episodes} episodes judged, ${inPhase} in this phase, ${steps} of ${this.#lifeCycle.episodeSteps} steps of the next`,
    ];
    const who = agentActs(life.phase) ? 'the agent' : 'the fallback';
    if (returns.length > 0) parts.push(`${who} earns ${mean(returns)}`);
    if (life.phase === 'offline' && estimates.length > 0)
      parts.push(`the agent would, by its estimate, ${mean(estimates)}`);
    if (agentActs(life.phase) && fallback !== null)
      parts.push(`the fallback earned ${fallback.mean.toFixed(3)}`);
    if (reference !== null) parts.push(`converged it earned ${reference.mean.toFixed(3)}`);
    if (this.#target(fn).heldOffline) parts.push('held offline by the operator');
    return parts.join('; ');
  }

  decide(before: AwareState, view: View, now: Millis): Decided<AwareState> {
    const { settings, cap, fallback } = this.#options;
    const { observation } = view;
    const { host } = observation;
    const known = before.hosts[host];
    const seen = hostStateOf(known, observation, settings, now);
    // Asked each time, so that it knows where things stand when it is needed.
    const fallbackStep = fallback.decide(before.fallback, view, now);
    const arrivals = observation.activations > 0;
    const slowdown = slowdownIn(observation, seen);
    const bounds = actionBoundsOf(
      observation,
      { cpu: seen.cpuPeak, memory: seen.memoryPeak },
      cap,
      settings.actions,
    );
    const mask = maskOf(
      seen.held,
      bounds,
      observation,
      settings.actions,
      new Uint8Array(SIMPPO_ACTIONS.length),
    );
    const remembered = { held: seen.held, rates: [known?.rate ?? 0, seen.rate] as const, slowdown };
    const { lifeCycleRun: loadedRun, companion, lost } = this.#awake(before, observation.cpuMode);
    const { learner, embedding } = companion;
    const input = withContext(
      inputOf(view, remembered, bounds, settings.virtual),
      embedding?.value,
    );
    let lifeCycleRun = loadedRun;
    const transitions: LifeCycleTransition[] = [];
    const moved = (transition: LifeCycleTransition): void => {
      transitions.push(transition);
      if (transition.from === 'initialized') return;
      if (transition.from === 'offline') learner.begin();
      if (transition.from === 'online') learner.cut(input);
      if (transition.to === 'offline') learner.restart();
      if (transition.from !== 'serving') return;
      learner.forget();
      embedding?.forget();
    };
    before.unreported.forEach(moved);
    if (lost !== null) transitions.push(lost);
    let reward: number | undefined;
    let done: number | null = null;
    const pending = known?.pending ?? null;
    const fresh =
      pending !== null && now - pending.at <= settings.staleMs && observation.mode === 'enforce';
    if (arrivals && pending !== null && fresh) {
      const earned = rewardOf(view, slowdown, false, settings.reward);
      reward = earned;
      done = this.#learn(learner, lifeCycleRun, pending, seen, view, earned, input);
      const outcome = { reward: earned, sloPreservation: sloPreservation(observation), arrivals };
      const trainOffline = (): number | null => {
        if (embedding?.episodes === 1) beginFromMostSimilar(companion, this.#companions.values());
        return learner.trainOffline(input);
      };
      embedding?.see(observation, done);
      const step = lifeCycleRunStep(
        lifeCycleRun,
        outcome,
        trainOffline,
        this.#target(before.fn),
        this.#lifeCycle,
      );
      lifeCycleRun = step.state;
      if (step.ended) embedding?.close();
      step.transitions.forEach(moved);
    }
    const acts = actorOf(lifeCycleRun) === 'agent' && arrivals;
    companion.mode = observation.cpuMode;
    companion.serves = phaseOf(lifeCycleRun) === 'serving';
    const action = acts ? learner.decide(input, mask, phaseOf(lifeCycleRun) === 'online') : null;
    const target =
      action === null ? seen.held : apply(action, seen.held, bounds, observation, settings.actions);
    const decision =
      action !== null
        ? decisionFor(action, target, fallbackStep.decision, observation, settings)
        : actorOf(lifeCycleRun) === 'agent'
          ? decisionFor(0, seen.held, fallbackStep.decision, observation, settings)
          : fallbackStep.decision;
    const next: Pending | null = arrivals
      ? { input: [...input], mask: [...mask], action, held: seen.held, at: now }
      : pending;
    const hosts = withHost(before.hosts, host, {
      ...seen,
      held: action === null ? heldAfter(seen.held, decision, observation, settings) : target,
      pending: next,
    });
    const state = {
      fn: before.fn,
      lifeCycleRun,
      fallback: fallbackStep.state,
      unreported: [],
      hosts,
    };
    return {
      state,
      decision,
      ...(reward === undefined ? {} : { reward }),
      ...(transitions.length === 0 ? {} : { transitions }),
    };
  }

  /** Phase and weights; the fallback begins anew, as its samples would be of another time. */
  saveState({ fn, lifeCycleRun }: AwareState): unknown {
    const companion = this.#companions.peek(fn);
    if (companion === undefined) return null;
    const { actor, critic } = companion.learner.weights();
    const { life, guard } = lifeCycleRun;
    return {
      life: encodeLifeCycle(this.#owner(fn), { life, guard }, this.#lifeCycle),
      actor: base64(actor),
      critic: base64(critic),
    };
  }

  loadState(fn: string, saved: unknown): AwareState | null {
    const checked = savedStateSchema.safeParse(saved);
    if (!checked.success) return null;
    try {
      const record = decodeLifeCycle(fn, checked.data.life, this.#owner(fn), this.#lifeCycle);
      // Its weights are replaced at once.
      const { learner } = this.#companion(fn, 'quota');
      const [actor, critic] = [floats(checked.data.actor), floats(checked.data.critic)];
      if (actor === null || critic === null || !learner.take({ actor, critic })) return null;
      // The operator may have begun to hold it offline since.
      const { state: lifeCycleRun, transitions: unreported } = beginLifeCycleRun(
        { ...LIFE_CYCLE_RUN_INITIAL, ...record },
        this.#target(fn),
      );
      return { ...this.initialState(fn), lifeCycleRun, unreported };
    } catch (error) {
      if (messageOf(error) === '') throw error;
      return null;
    }
  }

  #owner = (fn: string) => ({
    function: fn,
    fallback: this.#options.fallback.name,
    learner: this.#options.base,
  });

  #target = (fn: string): LifeCycleOverrides =>
    this.#options.lifeCycleOverrides?.(fn) ?? { bootstrap: true, heldOffline: false };

  /** Without its weights an agent has nothing to act by: it watches again. */
  #awake(
    { fn, lifeCycleRun, hosts }: AwareState,
    mode: Observation['cpuMode'],
  ): { lifeCycleRun: LifeCycleRunState; companion: Companion; lost: LifeCycleTransition | null } {
    const known = this.#companions.get(fn);
    if (known !== undefined) return { lifeCycleRun, companion: known, lost: null };
    const { phase, episodes } = lifeCycleRun.life;
    const companion = this.#companion(fn, mode);
    if (!agentActs(phase) || Object.keys(hosts).length === 0)
      return { lifeCycleRun, companion, lost: null };
    const restarted = {
      ...LIFE_CYCLE_RUN_INITIAL,
      life: { ...LIFE_CYCLE_INITIAL, phase: 'offline' as const },
    };
    const reason = 'its weights are no longer in memory (agents.resident): it watches again';
    const lost = {
      from: phase,
      to: 'offline' as const,
      episode: episodes,
      window: null,
      threshold: null,
      reason,
    };
    return { lifeCycleRun: restarted, companion, lost };
  }

  #companion(fn: string, mode: Observation['cpuMode']): Companion {
    const known = this.#companions.get(fn);
    if (known !== undefined) return known;
    const { base, engine, settings, encoder, seed, start, offlineTrainer } = this.#options;
    const one = {
      base,
      engine,
      settings,
      encoder,
      mode,
      seed: (seed + hashOf(fn)) >>> 0,
      start: start(mode),
      offlineTrainer,
    };
    const companion = companionOf(one);
    this.#companions.set(fn, companion);
    return companion;
  }

  /**
   * What came of the step before, to whoever is to learn from it. Returns the action that was done.
   */
  #learn(
    learner: LifeCycleLearner,
    lifeCycleRun: LifeCycleRunState,
    pending: Pending,
    seen: HostState,
    { observation }: View,
    reward: number,
    after: Float32Array,
  ): number {
    const { settings } = this.#options;
    const input = Float32Array.from(pending.input);
    const mask = Uint8Array.from(pending.mask);
    const learns = phaseOf(lifeCycleRun) === 'online';
    if (pending.action === null) {
      const action = nearestAction(pending.held, seen.held, seen.byWeight, settings);
      if (learns) learner.cut(after);
      else if (mask[action] === 1) learner.recordDemonstration({ input, mask, action, reward });
      return action;
    }
    const done = executed(pending.action, pending.held, seen.held, observation, settings.actions);
    if (!learns) return done;
    // Of another host a step may have been decided since.
    learner.decideAgain(input, mask);
    learner.learn(done, reward, after, observation.host);
    return done;
  }
}

/** What is held after a decision of the fallback's, as far as it said. */
function heldAfter(
  held: HostState['held'],
  decision: Decision,
  observation: Observation,
  settings: SimppoSettings,
): HostState['held'] {
  const byWeight = observation.cpuMode === 'weight';
  return {
    cpu: (byWeight ? factorOf(decision, observation, settings) : decision.cpu) ?? held.cpu,
    memory: decision.memory ?? held.memory,
    containers: decision.containers ?? held.containers,
  };
}

const base64 = (numbers: Float32Array): string =>
  Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength).toString('base64');

/** Null: not whole numbers of four bytes, or not finite. */
function floats(text: string): Float32Array | null {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  if (bytes.byteLength % 4 !== 0) return null;
  const numbers = new Float32Array(bytes.buffer);
  return numbers.every(Number.isFinite) ? numbers : null;
}

/** Features, and behind them what does not change from step to step. */
function withContext(features: Float32Array, context: Float32Array | undefined): Float32Array {
  if (context === undefined) return features;
  const input = new Float32Array(features.length + context.length);
  input.set(features);
  input.set(context, features.length);
  return input;
}
