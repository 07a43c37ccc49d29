import {
  type Checkpoint,
  CheckpointDamagedError,
  type Expected,
  type NetworkShape,
} from '../nn/index.js';
import { type PpoAgentShape, ppoShapes } from './agent.js';
import type { LearnerState } from './learner.js';
import type { PpoSettings } from './settings.js';

const KIND = 'ppo';

/** What a checkpoint of an agent of this shape must look like; its settings may differ. */
export const expectedPpo = (
  shape: PpoAgentShape,
  settings: Pick<PpoSettings, 'hidden'>,
): Expected => ({
  kind: KIND,
  shapes: { ...ppoShapes(shape, settings) },
});

export const ppoCheckpoint = (
  state: LearnerState,
  { shape, settings, seed }: { shape: PpoAgentShape; settings: PpoSettings; seed: number },
): Checkpoint => learnerCheckpoint(KIND, state, ppoShapes(shape, settings), settings, seed);

/** `more` stands before PPO's settings in the configuration. */
export const learnerCheckpoint = (
  kind: string,
  state: LearnerState,
  { actor, critic }: { readonly actor: NetworkShape; readonly critic: NetworkShape },
  settings: PpoSettings,
  seed: number,
  more: Checkpoint['configuration'] = {},
): Checkpoint => ({
  kind,
  seed,
  counters: { ...state.counters },
  configuration: {
    ...more,
    ...settings,
    learningRate: { ...settings.learningRate },
    entropy: { ...settings.entropy },
  },
  networks: {
    actor: { shape: actor, parameters: state.actor, moments: state.actorMoments },
    critic: { shape: critic, parameters: state.critic, moments: state.criticMoments },
  },
});

/** The learner's state of a checkpoint that was read with `expectedPpo`. */
export function ppoState(where: string, { networks, counters }: Checkpoint): LearnerState {
  const { actor, critic } = networks;
  const { updates, steps } = counters;
  if (!actor?.moments || !critic?.moments || updates === undefined || steps === undefined)
    throw new CheckpointDamagedError(where, 'it lacks a network, moments or counters');
  return {
    actor: actor.parameters,
    critic: critic.parameters,
    actorMoments: actor.moments,
    criticMoments: critic.moments,
    counters: { updates, steps },
  };
}
