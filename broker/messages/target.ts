import { z } from 'zod';
import { decoder } from './codec.js';
import {
  bootField,
  count,
  cpu,
  finite,
  functionField,
  hostField,
  memory,
  sender,
  time,
  version,
  word,
} from './fields.js';

/** A target's factor on a weight is at least 1 / this. */
export const TARGET_FACTOR_MAX = 64;
/** Most activations at once in one container. */
export const TARGET_CONCURRENCY_MAX = 500;

/**
 * An agent's target for its function (`target.<fn>`, agents → hook). Absent members set no target:
 * user limits apply. The hook clips it to the safeguard's range, and ignores a stale one or one
 * of a lower epoch than seen before.
 */
export const targetSchema = z.object({
  v: version,
  function: functionField,
  cpu: cpu
    .refine((value) => value > 0, 'is not positive')
    .optional()
    .describe('CPU and memory are per container, never zero.'),
  memory: memory.refine((value) => value > 0, 'is not positive').optional(),
  weightFactor: finite
    .min(1 / TARGET_FACTOR_MAX)
    .max(TARGET_FACTOR_MAX)
    .optional()
    .describe("Weight mode: multiplies the activation policy's weight."),
  containers: count.max(10_000).optional(),
  concurrency: count.min(1).max(TARGET_CONCURRENCY_MAX).optional(),
  nominalMemory: memory
    .refine((value) => value > 0, 'is not positive')
    .optional()
    .describe("The action's `limits.memory` as decided, for those who watch; hooks ignore it."),
  epoch: count.describe("Revision of the owner's lease: hooks accept the highest one only."),
  echo: z
    .object({ host: hostField, boot: bootField, observedAt: time })
    .describe('The answered observation; the hook computes its age by its own clock.'),
  peak: z
    .object({ userMemory: memory, memory })
    .optional()
    .describe(
      'Highest recent use on any host by a container of this user limit; every hook counts it ' +
        'as a peak of its own.',
    ),
  author: z.object({ ...sender, manager: word }),
});
export type Target = z.infer<typeof targetSchema>;
export const decodeTarget = decoder(targetSchema, 8 * 1024);
