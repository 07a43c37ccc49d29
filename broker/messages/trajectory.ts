import { z } from 'zod';
import { decoder } from './codec.js';
import {
  count,
  finite,
  functionField,
  hostField,
  nonNegative,
  sender,
  share,
  version,
  word,
} from './fields.js';

const STATE_WIDTH_MAX = 256;
const ACTIONS_WIDTH_MAX = 64;

/**
 * One step of one agent on one invoker host (`trajectory.<fn>`, agents → stream
 * `gleaner_trajectories`), for offline training, retraining detection and the meta-learner [AWARE].
 * The action is the executed one, even if the safeguard clipped the target.
 */
export const trajectorySchema = z
  .object({
    v: version,
    function: functionField,
    invoker: hostField.describe('Invoker host of the step.'),
    author: z.object({
      ...sender,
      manager: word,
      policy: z
        .enum(['own', 'base'])
        .describe('Weights of the function itself, or the shared ones.'),
      updates: count.describe('Updates of these weights when the action was chosen.'),
      sampled: z.boolean().describe('Sampled from the policy; false: its best action.'),
    }),
    episode: count.describe('Episode of this function on this invoker host.'),
    step: count.describe('Within the episode, from 0.'),
    state: z.array(finite).min(1).max(STATE_WIDTH_MAX),
    mask: z
      .array(z.union([z.literal(0), z.literal(1)]))
      .min(1)
      .max(ACTIONS_WIDTH_MAX)
      .describe('1: the action was allowed.'),
    action: count.describe('Executed; an index into `mask`.'),
    logProbability: finite.max(0).describe('Of that action, when it was chosen.'),
    reward: finite,
    discount: share.describe('Of later rewards, by the length of the step.'),
    span: nonNegative.meta({ typeLabel: 'ms' }).describe('Length of the step.'),
  })
  .refine(({ mask, action }) => mask[action] === 1, {
    path: ['action'],
    message: 'was not allowed',
  });
export type Trajectory = z.infer<typeof trajectorySchema>;
export const decodeTrajectory = decoder(trajectorySchema, 16 * 1024);
