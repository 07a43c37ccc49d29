import { type Checkpoint, CheckpointDamagedError, type Expected } from '../nn/index.js';
import { type DdpgShape, type DdpgState, ddpgShapes } from './learner.js';
import type { DdpgSettings } from './settings.js';

const KIND = 'ddpg';

export function expectedDdpg(shape: DdpgShape, settings: Pick<DdpgSettings, 'hidden'>): Expected {
  const { actor, critic } = ddpgShapes(shape, settings);
  return { kind: KIND, shapes: { actor, critic, target_actor: actor, target_critic: critic } };
}

export function ddpgCheckpoint(
  state: DdpgState,
  { shape, settings, seed }: { shape: DdpgShape; settings: DdpgSettings; seed: number },
): Checkpoint {
  const { actor, critic } = ddpgShapes(shape, settings);
  return {
    kind: KIND,
    seed,
    counters: { updates: state.updates },
    configuration: { ...settings, noise: { ...settings.noise } },
    networks: {
      actor: { shape: actor, parameters: state.actor, moments: state.actorMoments },
      critic: { shape: critic, parameters: state.critic, moments: state.criticMoments },
      target_actor: { shape: actor, parameters: state.targetActor, moments: null },
      target_critic: { shape: critic, parameters: state.targetCritic, moments: null },
    },
  };
}

/** The learner's state of a checkpoint that was read with `expectedDdpg`. */
export function ddpgState(where: string, { networks, counters }: Checkpoint): DdpgState {
  const { actor, critic, target_actor: targetActor, target_critic: targetCritic } = networks;
  const { updates } = counters;
  if (!actor?.moments || !critic?.moments || !targetActor || !targetCritic || updates === undefined)
    throw new CheckpointDamagedError(where, 'it lacks a network, moments or counters');
  return {
    actor: actor.parameters,
    critic: critic.parameters,
    targetActor: targetActor.parameters,
    targetCritic: targetCritic.parameters,
    actorMoments: actor.moments,
    criticMoments: critic.moments,
    updates,
  };
}
