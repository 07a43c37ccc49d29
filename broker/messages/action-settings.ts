import { z } from 'zod';
import { decoder } from './codec.js';
import { count, finite, functionField, modeField, text, version, wallClock } from './fields.js';

const bound = z.object({ min: finite.positive().optional(), max: finite.positive().optional() });

/**
 * A value of the bucket `gleaner_actions`, key = token: what the owner of an action says by
 * annotations, and what Gleaner changed of it. Written by `gleaner actions follow`; hooks and agent
 * hosts keep to it. A deleted key: nothing is said.
 */
export const actionSettingsSchema = z.object({
  v: version,
  function: functionField,
  mode: modeField
    .optional()
    .describe('`gleaner.mode`: holds back what the configuration allows, and never allows more.'),
  sloMs: finite
    .positive()
    .optional()
    .describe('`gleaner.slo`; an objective in the configuration wins.'),
  cpuMillicores: finite
    .positive()
    .optional()
    .describe('`gleaner.cpu`; a value in the configuration wins.'),
  bounds: z
    .object({ cpuMillicores: bound.optional(), memoryMiB: bound.optional() })
    .optional()
    .describe("`gleaner.bounds`; the configuration's bounds count too."),
  unreadable: z
    .array(text)
    .max(32)
    .default([])
    .describe('Annotations that cannot be read: with any, user limits stand.'),
  resized: z
    .object({ fromMiB: finite.positive(), toMiB: finite.positive() })
    .optional()
    .describe('Gleaner made the action smaller: what its user asked for, and what it has.'),
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
      "The action's `concurrency` in force, what its user asked for where Gleaner changed it, what its namespace accepts, and which code and memory it is of; absent where the platform does not tell.",
    ),
  at: wallClock.optional(),
});
export type ActionSettings = z.infer<typeof actionSettingsSchema>;
export const decodeActionSettings = decoder(actionSettingsSchema, 8 * 1024);
