import { GUARD_INITIAL, type GuardState, guardStep } from './guard.js';
import {
  agentActs,
  beginEpisode,
  endEpisode,
  LIFE_CYCLE_INITIAL,
  type LifeCycleOverrides,
  type LifeCyclePhase,
  type LifeCycleState,
  type LifeCycleStep,
  type LifeCycleTransition,
  retrain,
} from './life-cycle.js';
import type { LifeCycleSettings } from './settings.js';

/** A life cycle with the episode that is running. */
export interface LifeCycleRunState {
  readonly life: LifeCycleState;
  readonly guard: GuardState;
  /** Steps with arrivals of the running episode. */
  readonly steps: number;
  /** The judged ones: the agent's; offline the fallback's. `sum`: of their rewards. */
  readonly judged: number;
  readonly sum: number;
}

export const LIFE_CYCLE_RUN_INITIAL: LifeCycleRunState = {
  life: LIFE_CYCLE_INITIAL,
  guard: GUARD_INITIAL,
  steps: 0,
  judged: 0,
  sum: 0,
};

export interface Outcome {
  readonly reward: number;
  readonly sloPreservation: number;
  readonly arrivals: boolean;
  /** The agent chose the step's action; false: the fallback did. */
  readonly byAgent: boolean;
}

export interface LifeCycleRunStep {
  readonly state: LifeCycleRunState;
  /** In order; usually empty. */
  readonly transitions: readonly LifeCycleTransition[];
  readonly ended: boolean;
}

/** Decides the next step: the agent or its fallback. */
export const actorOf = ({ life, guard }: LifeCycleRunState): 'agent' | 'fallback' =>
  agentActs(life.phase) && !(life.phase === 'online' && guard.fallbackActs) ? 'agent' : 'fallback';

export const phaseOf = ({ life }: LifeCycleRunState): LifeCyclePhase => life.phase;

const changed = (
  before: LifeCycleRunState,
  { state: life, transition }: LifeCycleStep,
): LifeCycleRunStep => ({
  state: entered(before, life),
  transitions: transition === null ? [] : [transition],
  ended: false,
});

/** At the start, and when the operator's overrides may have changed. */
export const beginLifeCycleRun = (
  state: LifeCycleRunState,
  overrides: LifeCycleOverrides,
): LifeCycleRunStep => changed(state, beginEpisode(state.life, overrides));

/** An operator's `retrain`; it affects only a serving agent, as others are learning already. */
export const retrainLifeCycleRun = (state: LifeCycleRunState): LifeCycleRunStep =>
  changed(state, retrain(state.life));

/**
 * `estimatedGain`: of the agent over the fallback per step, asked at the end of an offline episode.
 */
export function lifeCycleRunStep(
  state: LifeCycleRunState,
  outcome: Outcome,
  estimatedGain: () => number | null,
  overrides: LifeCycleOverrides,
  settings: LifeCycleSettings,
): LifeCycleRunStep {
  const guard =
    state.life.phase === 'online' ? guardStep(state.guard, outcome, settings.guard) : GUARD_INITIAL;
  if (!outcome.arrivals || !Number.isFinite(outcome.reward))
    return { state: { ...state, guard }, transitions: [], ended: false };
  const steps = state.steps + 1;
  // A guarded agent would otherwise serve, without a guard, by what the fallback earned.
  const counts = outcome.byAgent === agentActs(state.life.phase);
  const judged = state.judged + (counts ? 1 : 0);
  const sum = state.sum + (counts ? outcome.reward : 0);
  if (steps < settings.episodeSteps)
    return { state: { ...state, guard, steps, judged, sum }, transitions: [], ended: false };
  const earned = judged > 0 ? sum / judged : 0;
  const gain = state.life.phase === 'offline' ? estimatedGain() : null;
  const episode = { earned, estimate: gain === null ? null : earned + gain, steps: judged };
  const end = endEpisode(state.life, episode, overrides, settings);
  const begin = beginEpisode(end.state, overrides);
  const transitions = [end.transition, begin.transition].filter((one) => one !== null);
  return {
    state: { ...entered({ ...state, guard }, begin.state), steps: 0, judged: 0, sum: 0 },
    transitions,
    ended: true,
  };
}

/** A new phase starts with a new guard and a new episode. */
function entered(state: LifeCycleRunState, life: LifeCycleState): LifeCycleRunState {
  return life.phase === state.life.phase ? { ...state, life } : { ...LIFE_CYCLE_RUN_INITIAL, life };
}
