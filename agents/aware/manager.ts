import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Observation } from '../../broker/index.js';
import { hashOf, type Millis, messageOf } from '../../config/index.js';
import { sloPreservation } from '../features.js';
import {
  actorOf,
  agentActs,
  beginCourse,
  COURSE_INITIAL,
  type CourseState,
  courseStep,
  decodeLifeCycle,
  encodeLifeCycle,
  LIFE_CYCLE_INITIAL,
  type LifeCycleLearner,
  type LifeCycleSettings,
  type LifeCycleTransition,
  type LifeCycleWish,
  lifeCycleSettings,
  phaseOf,
  retrainCourse,
  type Tutor,
  windowFigures,
} from '../lifecycle/index.js';
import type { Encoder } from '../meta/index.js';
import type { Engine } from '../nn/index.js';
import type { LearnerState } from '../ppo/index.js';
import type { Cap, Decided, Decision, ResourceManager, View } from '../resource-manager.js';
import {
  actionBoundsOf,
  apply,
  executed,
  inputOf,
  maskOf,
  rewardOf,
  SIMPPO_ACTIONS,
  type Sight,
  type SimppoSettings,
  sightOf,
  slowdownIn,
  withHost,
} from '../simppo/index.js';
import { type AwareBase, beginAlike, type Companion, companionOf } from './companion.js';
import { factorOf, nearestAction, wishOf } from './steps.js';

export interface AwareOptions {
  readonly base: AwareBase;
  /** The meta-learner; null: agents know nothing but their own features. */
  readonly encoder: Encoder | null;
  readonly fallback: ResourceManager;
  readonly settings: SimppoSettings;
  readonly lifeCycle?: LifeCycleSettings;
  readonly wish?: (fn: string) => LifeCycleWish;
  readonly engine: Engine;
  readonly cap: Cap;
  readonly seed: number;
  /** What an agent starts from, by the mode of its host; null: nothing, and it follows the fallback's actions first. */
  readonly start: (mode: Observation['cpuMode']) => LearnerState | null;
  /** Agents whose weights are kept in memory. */
  readonly resident?: number;
  /** Where agents learn; absent: where they decide, at once. */
  readonly tutor?: Tutor;
}

/** A step whose outcome is not known yet. */
interface Pending {
  readonly input: readonly number[];
  readonly mask: readonly number[];
  /** Of the agent; null: the fallback acted. */
  readonly action: number | null;
  readonly held: Sight['held'];
  readonly at: Millis;
}

export interface AwareState {
  readonly fn: string;
  readonly course: CourseState;
  readonly fallback: unknown;
  /** Transitions that no decision has told of yet. */
  readonly told: readonly LifeCycleTransition[];
  readonly hosts: Readonly<Record<string, Sight & { readonly pending: Pending | null }>>;
}

const RESIDENT = 256;

const restedSchema = z.object({ life: z.string().max(64 * 1024), actor: z.string(), critic: z.string() });

/**
 * AWARE (simppo-aware.md §3): the fallback decides for a new function while an agent of its own watches; the agent takes over when it would earn as much, guarded; it
 * serves when it has settled, and learns again when its world changes. A function's place in that is its state; weights stay here, and go along when it rests.
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
    const { state: course, transitions: told } = beginCourse(COURSE_INITIAL, this.#wish(fn));
    return { fn, course, fallback: this.#options.fallback.initialState(fn), told, hosts: {} };
  }

  phase({ course }: AwareState): string {
    return course.life.phase === 'online' && course.guard.fallbackActs ? 'guarded' : phaseOf(course);
  }

  retrain(state: AwareState): AwareState {
    const { state: course, transitions } = retrainCourse(state.course);
    return { ...state, course, told: [...state.told, ...transitions] };
  }

  about({ fn, course }: AwareState): string {
    const { life, steps } = course;
    const { episodes, inPhase, returns, estimates, fallback, reference } = life;
    const mean = (values: readonly number[]): string => windowFigures(values).mean.toFixed(3);
    const parts = [
      `${episodes} episodes judged, ${inPhase} in this phase, ${steps} of ${this.#lifeCycle.episodeSteps} steps of the next`,
    ];
    const who = agentActs(life.phase) ? 'the agent' : 'the fallback';
    if (returns.length > 0) parts.push(`${who} earns ${mean(returns)}`);
    if (life.phase === 'offline' && estimates.length > 0)
      parts.push(`the agent would, by its estimate, ${mean(estimates)}`);
    if (agentActs(life.phase) && fallback !== null) parts.push(`the fallback earned ${fallback.mean.toFixed(3)}`);
    if (reference !== null) parts.push(`converged it earned ${reference.mean.toFixed(3)}`);
    if (this.#wish(fn).heldOffline) parts.push('held offline by the operator');
    return parts.join('; ');
  }

  decide(before: AwareState, view: View, now: Millis): Decided<AwareState> {
    const { settings, cap, fallback } = this.#options;
    const { observation } = view;
    const { host } = observation;
    const known = before.hosts[host];
    const seen = sightOf(known, observation, settings, now);
    // Asked each time, so that it knows where things stand when it is needed.
    const fallen = fallback.decide(before.fallback, view, now);
    const arrivals = observation.activations > 0;
    const slowdown = slowdownIn(observation, seen);
    const bounds = actionBoundsOf(observation, { cpu: seen.cpuPeak, memory: seen.memoryPeak }, cap, settings.actions);
    const mask = maskOf(seen.held, bounds, observation, settings.actions, new Uint8Array(SIMPPO_ACTIONS.length));
    const remembered = { held: seen.held, rates: [known?.rate ?? 0, seen.rate] as const, slowdown };
    const { course: lived, companion, lost } = this.#awake(before, observation.cpuMode);
    const { learner, embedding } = companion;
    const input = withContext(inputOf(view, remembered, bounds, settings.virtual), embedding?.value);
    let course = lived;
    const transitions: LifeCycleTransition[] = [];
    const moved = (transition: LifeCycleTransition): void => {
      transitions.push(transition);
      if (transition.from === 'initialised') return;
      if (transition.from === 'offline') learner.begin();
      if (transition.from === 'online') learner.cut(input);
      if (transition.to === 'offline') learner.restart();
      if (transition.from !== 'serving') return;
      learner.forget();
      embedding?.forget();
    };
    before.told.forEach(moved);
    if (lost !== null) transitions.push(lost);
    let reward: number | undefined;
    let done: number | null = null;
    const pending = known?.pending ?? null;
    const fresh = pending !== null && now - pending.at <= settings.staleMs && observation.mode === 'enforce';
    if (arrivals && pending !== null && fresh) {
      const earned = rewardOf(view, slowdown, false, settings.reward);
      reward = earned;
      done = this.#learn(learner, course, pending, seen, view, earned, input);
      const outcome = { reward: earned, sloPreservation: sloPreservation(observation), arrivals };
      const study = (): number | null => {
        if (embedding?.episodes === 1) beginAlike(companion, this.#companions.values());
        return learner.study(input);
      };
      embedding?.see(observation, done);
      const step = courseStep(course, outcome, study, this.#wish(before.fn), this.#lifeCycle);
      course = step.state;
      if (step.ended) embedding?.close();
      step.transitions.forEach(moved);
    }
    const acts = actorOf(course) === 'agent' && arrivals;
    companion.mode = observation.cpuMode;
    companion.serves = phaseOf(course) === 'serving';
    const action = acts ? learner.decide(input, mask, phaseOf(course) === 'online') : null;
    const wish = action === null ? seen.held : apply(action, seen.held, bounds, observation, settings.actions);
    const decision =
      action !== null
        ? wishOf(action, wish, fallen.decision, observation, settings)
        : actorOf(course) === 'agent'
          ? wishOf(0, seen.held, fallen.decision, observation, settings)
          : fallen.decision;
    const next: Pending | null = arrivals
      ? { input: [...input], mask: [...mask], action, held: seen.held, at: now }
      : pending;
    const hosts = withHost(before.hosts, host, {
      ...seen,
      held: action === null ? heldAfter(seen.held, decision, observation, settings) : wish,
      pending: next,
    });
    const state = { fn: before.fn, course, fallback: fallen.state, told: [], hosts };
    return {
      state,
      decision,
      ...(reward === undefined ? {} : { reward }),
      ...(transitions.length === 0 ? {} : { transitions }),
    };
  }

  /** Phase and weights; the fallback begins anew, as its samples would be of another time. */
  rest({ fn, course }: AwareState): unknown {
    const companion = this.#companions.peek(fn);
    if (companion === undefined) return null;
    const { actor, critic } = companion.learner.weights();
    const { life, guard } = course;
    return {
      life: encodeLifeCycle(this.#owner(fn), { life, guard }, this.#lifeCycle),
      actor: base64(actor),
      critic: base64(critic),
    };
  }

  wake(fn: string, rested: unknown): AwareState | null {
    const checked = restedSchema.safeParse(rested);
    if (!checked.success) return null;
    try {
      const record = decodeLifeCycle(fn, checked.data.life, this.#owner(fn), this.#lifeCycle);
      // Its weights are replaced at once.
      const { learner } = this.#companion(fn, 'quota');
      const [actor, critic] = [floats(checked.data.actor), floats(checked.data.critic)];
      if (actor === null || critic === null || !learner.take({ actor, critic })) return null;
      // The operator may have begun to hold it offline since.
      const { state: course, transitions: told } = beginCourse({ ...COURSE_INITIAL, ...record }, this.#wish(fn));
      return { ...this.initialState(fn), course, told };
    } catch (error) {
      if (messageOf(error) === '') throw error;
      return null;
    }
  }

  #owner = (fn: string) => ({ function: fn, fallback: this.#options.fallback.name, learner: this.#options.base });

  #wish = (fn: string): LifeCycleWish => this.#options.wish?.(fn) ?? { bootstrap: true, heldOffline: false };

  /** Without its weights an agent has nothing to act by: it watches again. */
  #awake(
    { fn, course, hosts }: AwareState,
    mode: Observation['cpuMode'],
  ): { course: CourseState; companion: Companion; lost: LifeCycleTransition | null } {
    const known = this.#companions.get(fn);
    if (known !== undefined) return { course, companion: known, lost: null };
    const { phase, episodes } = course.life;
    const companion = this.#companion(fn, mode);
    if (!agentActs(phase) || Object.keys(hosts).length === 0) return { course, companion, lost: null };
    const again = { ...COURSE_INITIAL, life: { ...LIFE_CYCLE_INITIAL, phase: 'offline' as const } };
    const reason = 'its weights are no longer in memory (agents.resident): it watches again';
    const lost = { from: phase, to: 'offline' as const, episode: episodes, window: null, threshold: null, reason };
    return { course: again, companion, lost };
  }

  #companion(fn: string, mode: Observation['cpuMode']): Companion {
    const known = this.#companions.get(fn);
    if (known !== undefined) return known;
    const { base, engine, settings, encoder, seed, start, tutor } = this.#options;
    const one = { base, engine, settings, encoder, mode, seed: (seed + hashOf(fn)) >>> 0, start: start(mode), tutor };
    const companion = companionOf(one);
    this.#companions.set(fn, companion);
    return companion;
  }

  /** What came of the step before, to whoever is to learn from it. Returns the action that was done. */
  #learn(
    learner: LifeCycleLearner,
    course: CourseState,
    pending: Pending,
    seen: Sight,
    { observation }: View,
    reward: number,
    after: Float32Array,
  ): number {
    const { settings } = this.#options;
    const input = Float32Array.from(pending.input);
    const mask = Uint8Array.from(pending.mask);
    const learns = phaseOf(course) === 'online';
    if (pending.action === null) {
      const action = nearestAction(pending.held, seen.held, seen.byWeight, settings);
      if (learns) learner.cut(after);
      else if (mask[action] === 1) learner.watch({ input, mask, action, reward });
      return action;
    }
    const done = executed(pending.action, pending.held, seen.held, observation, settings.actions);
    if (!learns) return done;
    // Of another host a step may have been decided since.
    learner.recall(input, mask);
    learner.learn(done, reward, after, observation.host);
    return done;
  }
}

/** What is held after a decision of the fallback's, as far as it said. */
function heldAfter(
  held: Sight['held'],
  decision: Decision,
  observation: Observation,
  settings: SimppoSettings,
): Sight['held'] {
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
