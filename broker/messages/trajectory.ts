import { z } from 'zod';
import { decoder } from './codec.js';
import {
  bootField,
  count,
  finite,
  functionField,
  hostField,
  nonNegative,
  sequenceField,
  share,
  version,
  word,
} from './fields.js';

/** Widths of a policy's input and output that anybody records. */
const STATE_WIDTH_MAX = 256;
const ACTIONS_WIDTH_MAX = 64;

/**
 * One step of one agent on one invoker host (`trajectory.<fn>`, agents → stream
 * `gleaner_trajectories`): what an offline learner, a detector and a meta-learner read
 * (simppo-aware.md §3.1). The action is the one that was executed, also where the safeguard clipped
 * what was wished.
 */
export const trajectorySchema = z
  .object({
    v: version,
    function: functionField,
    invoker: hostField.describe('Invoker host that the step is of.'),
    author: z.object({
      host: hostField,
      boot: bootField,
      sequence: sequenceField,
      manager: word,
      policy: z
        .enum(['own', 'base'])
        .describe('Weights of its own, or those that functions share.'),
      updates: count.describe('Of these weights when the action was chosen.'),
      sampled: z.boolean().describe('Drawn from the policy; false: its best action.'),
    }),
    episode: count.describe('Of this function on this invoker host; a cut begins the next.'),
    step: count.describe('Within the episode, from 0.'),
    state: z.array(finite).min(1).max(STATE_WIDTH_MAX),
    mask: z
      .array(z.union([z.literal(0), z.literal(1)]))
      .min(1)
      .max(ACTIONS_WIDTH_MAX)
      .describe('1: the action was allowed.'),
    action: count.describe('Executed; an index into `mask`.'),
    logProbability: finite.max(0).describe('Of that action under the policy and mask of then.'),
    reward: finite,
    discount: share.describe('Of what came after, by the length of the step.'),
    span: nonNegative.meta({ typeLabel: 'ms' }).describe('Length of the step.'),
  })
  .refine(({ mask, action }) => mask[action] === 1, {
    path: ['action'],
    message: 'was not allowed',
  });
export type Trajectory = z.infer<typeof trajectorySchema>;
export const decodeTrajectory = decoder(trajectorySchema, 16 * 1024);
