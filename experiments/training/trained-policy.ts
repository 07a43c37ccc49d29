import { z } from 'zod';
import { expectedFaasrm, faasrmState } from '../../agents/faasrm/index.js';
import { expectCheckpoint, loadCheckpoint } from '../../agents/nn/index.js';
import { type LearnerState, ppoState } from '../../agents/ppo/index.js';
import {
  expectedPolicy,
  SIMPPO_NAMES,
  type SimppoName,
  settingsOf,
} from '../../agents/simppo/index.js';
import { UsageError } from '../../config/index.js';
import type { ClusterMode } from '../../simulator/engine/index.js';
import { PLAN } from './run.js';

/** What `gleaner train` has learned. Plain data, so that any worker can play it. */
export interface TrainedPolicy {
  readonly manager: SimppoName | 'faasrm';
  /** The mode in which it decides. */
  readonly mode: ClusterMode;
  readonly state: LearnerState;
}

/** As much of a training's options as says what the policy is for. */
const plan = z.discriminatedUnion('manager', [
  z.object({ manager: z.enum(SIMPPO_NAMES), mode: z.enum(['weight', 'quota']) }),
  z.object({ manager: z.literal('faasrm'), on: z.enum(['cluster', 'freyr-2021']) }),
]);

/**
 * Reads a folder that `gleaner train` wrote. Rejects with `GLN_CHECKPOINT_MISSING`, `_DAMAGED`,
 * `_FOREIGN` or `_NEWER`, or UsageError for a policy that no run of a comparison can play.
 */
export async function loadTrainedPolicy(folder: string): Promise<TrainedPolicy> {
  const checkpoint = await loadCheckpoint(folder);
  const { data: training } = plan.safeParse(checkpoint.configuration[PLAN]);
  if (training === undefined)
    throw new UsageError(`${folder} names no training of a known manager`, {
      hint: 'name a folder that `gleaner train` of this version wrote, or train again',
    });
  const { manager } = training;
  if (manager === 'faasrm') {
    if (training.on === 'freyr-2021')
      throw new UsageError(`${folder}: it was trained by the rules of freyr-2021`, {
        hint: 'train it with --mode quota: comparisons do not play those rules',
      });
    expectCheckpoint(folder, checkpoint, expectedFaasrm);
    return { manager, mode: 'quota', state: faasrmState(folder, checkpoint) };
  }
  expectCheckpoint(folder, checkpoint, expectedPolicy(settingsOf(manager)));
  return { manager, mode: training.mode, state: ppoState(folder, checkpoint) };
}
