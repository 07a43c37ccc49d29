import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FEATURE_LAYOUT } from '../../rules/index.js';
import { type Checkpoint, CheckpointForeignError, readShipped, scoreShape } from '../nn/index.js';
import { type LearnerState, learnerCheckpoint, ppoState } from '../ppo/index.js';
import type { FaasrmSettings } from './settings.js';

const KIND = 'faasrm';
const SHIPPED = fileURLToPath(new URL('../../../agents/faasrm/shipped/', import.meta.url));

/** Weights that come with the product: for hooks, and for the published simulator's rules. */
export type ShippedFaasrm = 'cluster' | 'freyr-2021';

export const expectedFaasrm = {
  kind: KIND,
  shapes: { actor: scoreShape, critic: scoreShape },
} as const;

/** With Adam's moments and counters, so that learning goes on. */
export function faasrmCheckpoint(
  state: LearnerState,
  { ppo, options, rollout, price }: FaasrmSettings,
  seed: number,
): Checkpoint {
  const more = { layout: FEATURE_LAYOUT, options, rollout, price };
  return learnerCheckpoint(KIND, state, expectedFaasrm.shapes, ppo, seed, more);
}

/** Throws `GLN_CHECKPOINT_FOREIGN` where its features are of another layout. */
export function faasrmState(where: string, checkpoint: Checkpoint): LearnerState {
  const { layout } = checkpoint.configuration;
  if (layout !== FEATURE_LAYOUT)
    throw new CheckpointForeignError(
      where,
      `its features are of layout ${String(layout)}, not ${FEATURE_LAYOUT}`,
    );
  return ppoState(where, checkpoint);
}

/** The 1,858 numbers that hooks are sent: actor, then critic. */
export const faasrmWeights = ({
  actor,
  critic,
}: Pick<LearnerState, 'actor' | 'critic'>): number[] => [...actor, ...critic];

/** What a hook needs beside the weights. */
export const faasrmParameters = (version: number, explore: boolean) => ({
  layout: FEATURE_LAYOUT,
  version,
  explore,
});

const read = new Map<ShippedFaasrm, LearnerState | null>();

/** Null if none is shipped. Throws `GLN_CHECKPOINT_DAMAGED`, `_FOREIGN` or `_NEWER`. */
export function shippedFaasrm(name: ShippedFaasrm): LearnerState | null {
  let state = read.get(name);
  if (state === undefined) {
    const folder = join(SHIPPED, name);
    const checkpoint = readShipped(folder, expectedFaasrm);
    state = checkpoint && faasrmState(folder, checkpoint);
    read.set(name, state);
  }
  return state;
}
