import { LRUCache } from 'lru-cache';
import type { Observation } from '../../broker/messages/index.js';
import { hashOf, type Millis } from '../../config/index.js';
import { sloPreservation } from '../features.js';
import { firmSettings } from '../firm/index.js';
import type { Engine } from '../nn/index.js';
import { type LearnerState, onlineSettings, type PpoSettings } from '../ppo/index.js';
import type { Cap, Decided, Decision, ResourceManager, View } from '../resource-manager.js';
import {
  apply,
  executed,
  type HostState,
  maskOf,
  rewardOf,
  SIMPPO_ACTIONS,
  type SimppoSettings,
  simppoShape,
  situationOf,
  widenPolicyInputs,
  withHost,
} from '../simppo/index.js';
import { AwareAgent, type AwareStep } from './agent.js';
import { FunctionEmbedding } from './function-embedding.js';
import {
  actorOf,
  agentActs,
  beginLifeCycleRun,
  DEFAULT_OVERRIDES,
  decodeLifeCycle,
  encodeLifeCycle,
  FirmLifeCycleLearner,
  LIFE_CYCLE_INITIAL,
  LIFE_CYCLE_RUN_INITIAL,
  type LifeCycleChoice,
  type LifeCycleOverrides,
  type LifeCycleRunState,
  type LifeCycleSettings,
  type LifeCycleTransition,
  lifeCycleSettings,
  type OfflineTrainer,
  PpoLifeCycleLearner,
  phaseOf,
  retrainLifeCycleRun,
  windowFigures,
} from './life-cycle/index.js';
import type { Encoder } from './meta-learner/index.js';
import { decodeSaved, encodeSaved } from './saved-state.js';
import { aimedView } from './slo-aim.js';
import { decisionFor, factorOf, nearestAction, stepsOf } from './steps.js';

const AWARE_BASES = ['simppo', 'firm'] as const;
/** What learns: PPO from SIMPPO's shipped policy, or FIRM's DDPG from untrained weights. */
export type AwareBase = (typeof AWARE_BASES)[number];

/** Online after bootstrapping: half the usual clip, as the policy is good already [AWARE]. */
const PPO: PpoSettings = { ...onlineSettings, clip: 0.1 };
const BATCH = 200;

export interface AwareOptions {
  readonly base: AwareBase;
  /** The meta-learner; null: agents see only their own features. */
  readonly encoder: Encoder | null;
  readonly fallback: ResourceManager;
  readonly settings: SimppoSettings;
  readonly lifeCycle?: LifeCycleSettings;
  readonly lifeCycleOverrides?: (fn: string) => LifeCycleOverrides;
  readonly engine: Engine;
  readonly cap: Cap;
  readonly seed: number;
  /** Initial weights, by the mode of the host; null: untrained, so it clones the fallback first. */
  readonly start: (mode: Observation['cpuMode']) => LearnerState | null;
  /** Agents whose weights are kept in memory. */
  readonly resident?: number;
  /** Trains in another thread; absent: agents train in place, at once. */
  readonly offlineTrainer?: OfflineTrainer;
}

interface Pending {
  readonly input: readonly number[];
  readonly mask: readonly number[];
  /** The agent's choice; null: the fallback acted. */
  readonly choice: LifeCycleChoice | null;
  readonly held: HostState['held'];
  readonly at: Millis;
}

/** What a step knows when the last one is judged. */
interface Current {
  readonly fn: string;
  readonly agent: AwareAgent;
  readonly seen: HostState;
  readonly observation: Observation;
  /** The same with the objective that agents aim at. */
  readonly aimed: Observation;
  readonly input: Float32Array;
}

interface Judged {
  readonly lifeCycleRun: LifeCycleRunState;
  readonly transitions: readonly LifeCycleTransition[];
  /** Absent: there was no step to judge. */
  readonly reward?: number;
}

export interface AwareState {
  readonly fn: string;
  readonly lifeCycleRun: LifeCycleRunState;
  readonly fallback: unknown;
  /** Transitions that no decision has reported yet. */
  readonly unreported: readonly LifeCycleTransition[];
  readonly hosts: Readonly<Record<string, HostState & { readonly pending: Pending | null }>>;
}

const RESIDENT = 256;

/**
 * AWARE [AWARE]: the fallback decides while the agent learns from it; the agent takes over,
 * guarded, when its estimate is as good, serves when it has converged, and learns again when the
 * workload changes. Features, actions and reward are SIMPPO's.
 */
export class AwareManager implements ResourceManager<AwareState> {
  readonly name = 'aware';
  readonly #options: AwareOptions;
  readonly #lifeCycle: LifeCycleSettings;
  readonly #agents: LRUCache<string, AwareAgent>;

  constructor(options: AwareOptions) {
    this.#options = options;
    this.#lifeCycle = options.lifeCycle ?? lifeCycleSettings;
    this.#agents = new LRUCache({
      max: Math.max(1, options.resident ?? RESIDENT),
      dispose: ({ learner }) => learner.dispose(),
    });
  }

  initialState(fn: string): AwareState {
    const { state: lifeCycleRun, transitions: unreported } = beginLifeCycleRun(
      LIFE_CYCLE_RUN_INITIAL,
      this.#overrides(fn),
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
      `${episodes} episodes judged, ${inPhase} in this phase, ` +
        `${steps} of ${this.#lifeCycle.episodeSteps} steps of the next`,
    ];
    const who = agentActs(life.phase) ? 'the agent' : 'the fallback';
    if (returns.length > 0) parts.push(`${who} earns ${mean(returns)}`);
    if (life.phase === 'offline' && estimates.length > 0)
      parts.push(`the agent would, by its estimate, ${mean(estimates)}`);
    if (agentActs(life.phase) && fallback !== null)
      parts.push(`the fallback earned ${fallback.mean.toFixed(3)}`);
    if (reference !== null) parts.push(`converged it earned ${reference.mean.toFixed(3)}`);
    if (this.#overrides(fn).heldOffline) parts.push('held offline by the operator');
    return parts.join('; ');
  }

  decide(before: AwareState, view: View, now: Millis): Decided<AwareState> {
    const { settings, fallback } = this.#options;
    const { observation } = view;
    const { host } = observation;
    const known = before.hosts[host];
    const aimed = aimedView(view);
    const situation = situationOf(known, aimed, this.#options, now);
    const { seen, slowdown, bounds } = situation;
    // Asked at each step, so that its state is current when it has to decide.
    const fallbackStep = fallback.decide(before.fallback, view, now);
    const { lifeCycleRun: loaded, agent, lost } = this.#load(before, observation.cpuMode);
    const input = agent.input(situation.input);
    for (const transition of before.unreported) agent.enter(transition);

    const arrivals = observation.activations > 0;
    const last = known?.pending ?? null;
    const { fn } = before;
    let judged: Judged = { lifeCycleRun: loaded, transitions: [] };
    if (arrivals && last !== null)
      if (now - last.at <= settings.hook.targetStale && observation.mode === 'enforce') {
        const reward = rewardOf(aimed, slowdown, false, settings.reward);
        const current = { fn, agent, seen, observation, aimed: aimed.observation, input };
        judged = this.#judge(loaded, last, reward, current);
      } else agent.learner.cut(host);
    const { lifeCycleRun, reward } = judged;
    const transitions = [
      ...before.unreported,
      ...(lost === null ? [] : [lost]),
      ...judged.transitions,
    ];
    agent.mode = observation.cpuMode;
    agent.isServing = phaseOf(lifeCycleRun) === 'serving';

    const mask = maskOf(
      seen.held,
      bounds,
      observation,
      settings.actions,
      new Uint8Array(SIMPPO_ACTIONS.length),
    );
    const choice = arrivals ? agent.decide(lifeCycleRun, input, mask) : null;
    const action = choice?.action ?? null;
    const target =
      action === null ? seen.held : apply(action, seen.held, bounds, observation, settings.actions);
    const decision =
      action !== null
        ? decisionFor(action, target, fallbackStep.decision, observation, settings)
        : actorOf(lifeCycleRun) === 'agent'
          ? decisionFor(0, seen.held, fallbackStep.decision, observation, settings)
          : fallbackStep.decision;
    const hosts = withHost(before.hosts, host, {
      ...seen,
      held: action === null ? heldAfter(seen.held, decision, observation, settings) : target,
      pending: arrivals
        ? { input: [...input], mask: [...mask], choice, held: seen.held, at: now }
        : last,
    });
    const state = { fn, lifeCycleRun, fallback: fallbackStep.state, unreported: [], hosts };
    return {
      state,
      decision,
      ...(reward === undefined ? {} : { reward }),
      ...(transitions.length === 0 ? {} : { transitions }),
    };
  }

  /** The agent learns from the last step, and the life cycle goes on by it. */
  #judge(
    lifeCycleRun: LifeCycleRunState,
    last: Pending,
    reward: number,
    { fn, agent, seen, observation, aimed, input }: Current,
  ): Judged {
    const executedStep = this.#stepOf(last, seen, observation, reward);
    agent.learn(lifeCycleRun, executedStep, input);
    agent.embedding?.observe(aimed, executedStep.action);
    const step = agent.advance(
      lifeCycleRun,
      {
        reward,
        sloPreservation: sloPreservation(observation),
        arrivals: true,
        byAgent: executedStep.choice !== null,
      },
      this.#overrides(fn),
      this.#lifeCycle,
      this.#agents.values(),
    );
    return { lifeCycleRun: step.state, transitions: step.transitions, reward };
  }

  /** Phase and weights; not the fallback's samples, which would be outdated. */
  saveState({ fn, lifeCycleRun }: AwareState): unknown {
    const agent = this.#agents.peek(fn);
    if (agent === undefined) return null;
    const { life, guard } = lifeCycleRun;
    return encodeSaved({
      life: encodeLifeCycle(this.#owner(fn), { life, guard }, this.#lifeCycle),
      weights: agent.learner.weights(),
      embedding: agent.embedding?.value ?? null,
      mode: agent.mode,
    });
  }

  loadState(fn: string, saved: unknown): AwareState | null {
    const decoded = decodeSaved(saved);
    if (decoded === null) return null;
    const record = decodeLifeCycle(decoded.life, this.#owner(fn), this.#lifeCycle);
    if (record === null) return null;
    const agent = this.#agentOf(fn, decoded.mode);
    if (!agent.load(decoded.weights, decoded.embedding)) {
      this.#agents.delete(fn);
      return null;
    }
    // The operator may have begun to hold it offline since.
    const { state: lifeCycleRun, transitions: unreported } = beginLifeCycleRun(
      { ...LIFE_CYCLE_RUN_INITIAL, ...record },
      this.#overrides(fn),
    );
    return { ...this.initialState(fn), lifeCycleRun, unreported };
  }

  #owner = (fn: string) => ({
    function: fn,
    fallback: this.#options.fallback.name,
    learner: this.#options.base,
  });

  #overrides = (fn: string): LifeCycleOverrides =>
    this.#options.lifeCycleOverrides?.(fn) ?? DEFAULT_OVERRIDES;

  /** An agent whose weights are no longer in memory cannot act, and starts offline again. */
  #load(
    { fn, lifeCycleRun, hosts }: AwareState,
    mode: Observation['cpuMode'],
  ): { lifeCycleRun: LifeCycleRunState; agent: AwareAgent; lost: LifeCycleTransition | null } {
    const known = this.#agents.get(fn);
    if (known !== undefined) return { lifeCycleRun, agent: known, lost: null };
    const { phase: from, episodes: episode } = lifeCycleRun.life;
    const agent = this.#agentOf(fn, mode);
    if (!agentActs(from) || Object.keys(hosts).length === 0)
      return { lifeCycleRun, agent, lost: null };
    const restarted = {
      ...LIFE_CYCLE_RUN_INITIAL,
      life: { ...LIFE_CYCLE_INITIAL, phase: 'offline' as const },
    };
    const reason = 'its weights are no longer in memory (agents.resident)';
    const lost = { from, to: 'offline', episode, window: null, threshold: null, reason } as const;
    return { lifeCycleRun: restarted, agent, lost };
  }

  #agentOf(fn: string, mode: Observation['cpuMode']): AwareAgent {
    const known = this.#agents.get(fn);
    if (known !== undefined) return known;
    const { base, engine, settings, encoder, start, offlineTrainer } = this.#options;
    const { features, actions } = simppoShape(settings);
    const context = encoder?.shape.embedding ?? 0;
    const common = {
      engine,
      features,
      context,
      actions,
      seed: (this.#options.seed + hashOf(fn)) >>> 0,
      offlineTrainer,
    };
    const learner =
      base === 'firm'
        ? new FirmLifeCycleLearner({ ...common, ddpg: firmSettings })
        : new PpoLifeCycleLearner({
            ...common,
            ppo: PPO,
            batch: BATCH,
            start: () => {
              const state = start(agent.mode);
              return state && widenPolicyInputs(state, { features, actions }, context, PPO);
            },
          });
    const embedding = encoder === null ? null : new FunctionEmbedding(encoder, actions);
    const agent: AwareAgent = new AwareAgent(learner, embedding, mode);
    this.#agents.set(fn, agent);
    return agent;
  }

  /** The last step as it was executed: the safeguard may have clipped or undone it. */
  #stepOf(pending: Pending, seen: HostState, observation: Observation, reward: number): AwareStep {
    const { settings } = this.#options;
    const { choice } = pending;
    const action =
      choice === null
        ? nearestAction(stepsOf(pending.held, seen.held, seen.byWeight, settings))
        : executed(choice.action, pending.held, seen.held, observation, settings.actions);
    return {
      input: Float32Array.from(pending.input),
      mask: Uint8Array.from(pending.mask),
      action,
      choice,
      reward,
      host: observation.host,
    };
  }
}

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
