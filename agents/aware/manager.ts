import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Observation } from '../../broker/index.js';
import { type Millis, messageOf } from '../../config/index.js';
import { sloPreservation } from '../features.js';
import {
  Apprentice,
  actorOf,
  agentActs,
  beginCourse,
  COURSE_INITIAL,
  type CourseState,
  courseStep,
  decodeLifeCycle,
  encodeLifeCycle,
  LIFE_CYCLE_INITIAL,
  type LifeCycleSettings,
  type LifeCycleTransition,
  type LifeCycleWish,
  lifeCycleSettings,
  offlineSettings,
  phaseOf,
  retrain,
} from '../lifecycle/index.js';
import type { Engine } from '../nn/index.js';
import { type LearnerState, onlineSettings, type PpoSettings } from '../ppo/index.js';
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
  simppoShape,
  slowdownIn,
} from '../simppo/index.js';
import { nearestAction, wishOf } from './steps.js';

export interface AwareOptions {
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
  readonly hosts: Readonly<Record<string, Sight & { readonly pending: Pending | null }>>;
}

/** Online after bootstrapping: half the clip (simppo-aware.md §3.3 step 5). */
const PPO: PpoSettings = { ...onlineSettings, clip: 0.1 };
const BATCH = 200;
const HOSTS_MAX = 64;
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
  readonly #apprentices: LRUCache<string, Apprentice>;

  constructor(options: AwareOptions) {
    this.#options = options;
    this.#lifeCycle = options.lifeCycle ?? lifeCycleSettings;
    this.#apprentices = new LRUCache({
      max: Math.max(1, options.resident ?? RESIDENT),
      dispose: (apprentice) => apprentice.dispose(),
    });
  }

  initialState(fn: string): AwareState {
    const { state: course } = beginCourse(COURSE_INITIAL, this.#wish(fn));
    return { fn, course, fallback: this.#options.fallback.initialState(fn), hosts: {} };
  }

  phase({ course }: AwareState): string {
    return course.life.phase === 'online' && course.guard.fallbackActs ? 'guarded' : phaseOf(course);
  }

  retrain(state: AwareState): AwareState {
    return { ...state, course: { ...state.course, life: retrain(state.course.life).state } };
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
    const input = inputOf(view, remembered, bounds, settings.virtual);
    const { course: lived, apprentice } = this.#awake(before, observation.cpuMode);
    let course = lived;
    const transitions: LifeCycleTransition[] = [];
    let reward: number | undefined;
    const pending = known?.pending ?? null;
    const fresh = pending !== null && now - pending.at <= settings.staleMs && observation.mode === 'enforce';
    if (arrivals && pending !== null && fresh) {
      const earned = rewardOf(view, slowdown, false, settings.reward);
      reward = earned;
      this.#learn(apprentice, course, pending, seen, view, earned, input);
      const outcome = { reward: earned, sloPreservation: sloPreservation(observation), arrivals };
      const study = (): number | null => apprentice.study(input);
      const step = courseStep(course, outcome, study, this.#wish(before.fn), this.#lifeCycle);
      course = step.state;
      for (const transition of step.transitions) {
        transitions.push(transition);
        if (transition.from === 'online') apprentice.cut(input);
        if (transition.to === 'offline') apprentice.restart();
        if (transition.from === 'serving') apprentice.forget();
      }
    }
    const acts = actorOf(course) === 'agent' && arrivals;
    const action = acts ? apprentice.decide(input, mask, phaseOf(course) === 'online') : null;
    const wish = action === null ? seen.held : apply(action, seen.held, bounds, observation, settings.actions);
    const decision =
      action !== null
        ? wishOf(action, wish, observation, settings)
        : actorOf(course) === 'agent'
          ? wishOf(0, seen.held, observation, settings)
          : fallen.decision;
    const next: Pending | null = arrivals
      ? { input: [...input], mask: [...mask], action, held: seen.held, at: now }
      : pending;
    const hosts = withHost(before.hosts, host, {
      ...seen,
      held: action === null ? heldAfter(seen.held, decision, observation.cpuMode === 'weight') : wish,
      pending: next,
    });
    const state = { fn: before.fn, course, fallback: fallen.state, hosts };
    return {
      state,
      decision,
      ...(reward === undefined ? {} : { reward }),
      ...(transitions.length === 0 ? {} : { transitions }),
    };
  }

  /** Phase and weights; the fallback begins anew, as its samples would be of another time. */
  rest({ fn, course }: AwareState): unknown {
    const apprentice = this.#apprentices.peek(fn);
    if (apprentice === undefined) return null;
    const { actor, critic } = apprentice.agent.export();
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
      const apprentice = this.#apprentice(fn, 'quota');
      const fresh = apprentice.agent.export();
      const actor = floats(checked.data.actor, fresh.actor.length);
      const critic = floats(checked.data.critic, fresh.critic.length);
      if (actor === null || critic === null) return null;
      apprentice.agent.import({ ...fresh, actor, critic });
      return { ...this.initialState(fn), course: { ...COURSE_INITIAL, ...record } };
    } catch (error) {
      if (messageOf(error) === '') throw error;
      return null;
    }
  }

  #owner = (fn: string) => ({ function: fn, fallback: this.#options.fallback.name, learner: 'simppo' });

  #wish = (fn: string): LifeCycleWish => this.#options.wish?.(fn) ?? { bootstrap: true, heldOffline: false };

  /** Without its weights an agent has nothing to act by: it watches again. */
  #awake(
    { fn, course, hosts }: AwareState,
    mode: Observation['cpuMode'],
  ): { course: CourseState; apprentice: Apprentice } {
    const known = this.#apprentices.get(fn);
    if (known !== undefined) return { course, apprentice: known };
    const { life } = course;
    const lost = agentActs(life.phase) && Object.keys(hosts).length > 0;
    const again = lost ? { ...COURSE_INITIAL, life: { ...LIFE_CYCLE_INITIAL, phase: 'offline' as const } } : course;
    return { course: again, apprentice: this.#apprentice(fn, mode) };
  }

  #apprentice(fn: string, mode: Observation['cpuMode']): Apprentice {
    const known = this.#apprentices.get(fn);
    if (known !== undefined) return known;
    const { engine, settings, seed, start } = this.#options;
    const { features, actions } = simppoShape(settings);
    const apprentice = new Apprentice({
      engine,
      features,
      context: 0,
      actions,
      ppo: PPO,
      offline: offlineSettings,
      batch: BATCH,
      seed: (seed + hashOf(fn)) >>> 0,
      start: start(mode),
    });
    this.#apprentices.set(fn, apprentice);
    return apprentice;
  }

  /** What came of the step before, to whoever is to learn from it. */
  #learn(
    apprentice: Apprentice,
    course: CourseState,
    pending: Pending,
    seen: Sight,
    { observation }: View,
    reward: number,
    after: Float32Array,
  ): void {
    const { settings } = this.#options;
    const input = Float32Array.from(pending.input);
    const mask = Uint8Array.from(pending.mask);
    const learns = phaseOf(course) === 'online';
    if (pending.action === null) {
      const action = nearestAction(pending.held, seen.held, seen.byWeight, settings);
      if (learns) apprentice.cut(after);
      else if (mask[action] === 1) apprentice.watch({ input, mask, action, reward });
      return;
    }
    if (!learns) return;
    const done = executed(pending.action, pending.held, seen.held, observation, settings.actions);
    // Of another host a step may have been decided since.
    apprentice.recall(input, mask);
    apprentice.learn(done, reward, after, observation.host);
  }
}

/** What is held after a decision of the fallback's, as far as it said. */
function heldAfter(held: Sight['held'], decision: Decision, byWeight: boolean): Sight['held'] {
  return {
    cpu: (byWeight ? decision.weightFactor : decision.cpu) ?? held.cpu,
    memory: decision.memory ?? held.memory,
    containers: decision.containers ?? held.containers,
  };
}

/** Replaces a host; the one seen first goes where there are too many. */
function withHost(hosts: AwareState['hosts'], host: string, seen: AwareState['hosts'][string]): AwareState['hosts'] {
  const { [host]: _, ...others } = hosts;
  return { ...Object.fromEntries(Object.entries(others).slice(-(HOSTS_MAX - 1))), [host]: seen };
}

const base64 = (numbers: Float32Array): string =>
  Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength).toString('base64');

/** Null: of another length, or not finite. */
function floats(text: string, length: number): Float32Array | null {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  if (bytes.byteLength !== 4 * length) return null;
  const numbers = new Float32Array(bytes.buffer);
  return numbers.every(Number.isFinite) ? numbers : null;
}

/** FNV-1a. */
function hashOf(label: string): number {
  let hash = 2166136261;
  for (let i = 0; i < label.length; i++) hash = Math.imul(hash ^ label.charCodeAt(i), 16777619);
  return hash >>> 0;
}
