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
  sequenceField,
  time,
  version,
} from './fields.js';

/**
 * What an agent wishes for its function (`target.<fn>`, agent → hooks). Absent members are no wish:
 * user limits, or as they are. The hook clips it to the safeguard's range; a stale one, or one of a
 * lower epoch than seen, is ignored.
 */
export const targetSchema = z.object({
  v: version,
  function: functionField,
  cpu: cpu
    .refine((value) => value > 0, 'is not positive')
    .optional()
    .describe('Per container. Millicores, bytes; never zero.'),
  memory: memory.refine((value) => value > 0, 'is not positive').optional(),
  weightFactor: finite
    .min(1 / 64)
    .max(64)
    .optional()
    .describe("Weight mode: multiplies the activation policy's weight."),
  containers: count.max(10_000).optional(),
  concurrency: count.min(1).max(500).optional(),
  nominalMemory: memory
    .refine((value) => value > 0, 'is not positive')
    .optional()
    .describe("The action's own limit, for whoever may change actions; no hook acts on it."),
  epoch: count.describe("Revision of the owner's lease: the highest one seen is obeyed."),
  echo: z
    .object({ host: hostField, boot: bootField, observedAt: time })
    .describe('The observation that this answers: the hook judges staleness by its own clock.'),
  peak: z
    .object({ userMemory: memory, memory })
    .optional()
    .describe(
      "Most memory that any invoker host has seen a container of this user's limit use lately: every hook counts it among its own peaks.",
    ),
  author: z.object({
    host: hostField,
    boot: bootField,
    sequence: sequenceField,
    manager: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/),
  }),
});
export type Target = z.infer<typeof targetSchema>;
export const decodeTarget = decoder(targetSchema, 8 * 1024);
