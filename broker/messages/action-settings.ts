import { z } from 'zod';
import { decoder } from './codec.js';
import { count, finite, functionField, modeField, text, version, wallClock } from './fields.js';

const bound = z.object({ min: finite.positive().optional(), max: finite.positive().optional() });

/**
 * A value of the bucket `gleaner_actions`: the owner's annotations of an action, and Gleaner's own
 * changes to it. Written by `gleaner actions follow`; hooks and agent hosts apply it.
 */
export const actionSettingsSchema = z.object({
  v: version,
  function: functionField,
  mode: modeField
    .optional()
    .describe('`gleaner.mode`: restricts the configured mode, never extends it.'),
  sloMs: finite
    .positive()
    .optional()
    .describe('`gleaner.slo`; an SLO in the configuration has precedence.'),
  cpuMillicores: finite
    .positive()
    .optional()
    .describe('`gleaner.cpu`; a value in the configuration has precedence.'),
  bounds: z
    .object({ cpuMillicores: bound.optional(), memoryMiB: bound.optional() })
    .optional()
    .describe("`gleaner.bounds`; the configuration's bounds apply too."),
  unreadable: z
    .array(text)
    .max(32)
    .default([])
    .describe('Invalid annotations: with any, user limits apply.'),
  resized: z
    .object({ fromMiB: finite.positive(), toMiB: finite.positive() })
    .optional()
    .describe("Set if Gleaner lowered the action's memory: the user's, and the current one."),
  concurrency: z
    .object({
      limit: count.min(1),
      requested: count.min(1).optional(),
      least: count.min(1),
      most: count.min(1),
      revision: text,
    })
    .optional()
    .describe(
      "The action's `concurrency`, the user's own if Gleaner changed it, the namespace's range, " +
        'and the revision; absent if the platform does not report it.',
    ),
  at: wallClock.optional(),
});
export type ActionSettings = z.infer<typeof actionSettingsSchema>;
export const decodeActionSettings = decoder(actionSettingsSchema, 8 * 1024);
