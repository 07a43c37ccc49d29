import { z } from 'zod';
import { functionName, functionToken } from '../function-token.js';
import { decoder } from './codec.js';
import {
  amounts,
  bootField,
  count,
  finite,
  functionField,
  hostField,
  modeField,
  text,
  version,
  wallClock,
  word,
} from './fields.js';

/** A value of the bucket `gleaner_mode`: kill switch and mode for all functions or for one. */
export const modeSchema = z.object({
  v: version,
  kill: z
    .boolean()
    .default(false)
    .describe(
      'True: user limits are restored, and no limit is written until it is false again. ' +
        'Applies in the global key only.',
    ),
  paused: z
    .boolean()
    .default(false)
    .describe("One function's user limits apply and no limit is written, in any mode."),
  mode: modeField.optional().describe('Absent: as configured.'),
  author: text.describe('Author of the change, for the audit log.'),
  reason: text.default(''),
  at: wallClock.optional(),
});
export type ModeValue = z.infer<typeof modeSchema>;
export const decodeMode = decoder(modeSchema, 4 * 1024);

export const MODE_GLOBAL = 'global';
const FUNCTION_KEY = 'function.';
export const modeKey = (fn: string): string => `${FUNCTION_KEY}${functionToken(fn)}`;
/** The function of a {@link modeKey}; null for any other key. */
export const functionOfModeKey = (key: string): string | null =>
  key.startsWith(FUNCTION_KEY) ? functionName(key.slice(FUNCTION_KEY.length)) : null;

/**
 * A value of the bucket `gleaner_functions`: a function that some hook has observed, and its agent
 * host, which deletes the entry when the function has had no activation for long.
 */
export const registrationSchema = z.object({
  v: version,
  function: functionField,
  manager: word,
  agentHost: hostField,
  boot: bootField,
  user: amounts,
  registeredAt: wallClock,
  seenAt: wallClock
    .optional()
    .describe(
      'Time of the last observation, up to a quarter of `agents.registry.forgetAfterS` too early.',
    ),
});
export type Registration = z.infer<typeof registrationSchema>;
/** Refuses an entry with members that no agent host writes: another program has changed it. */
export const decodeOwnRegistration = decoder(registrationSchema.strict(), 8 * 1024);

/** A value of the bucket `gleaner_leases`: its revision is the owner's epoch. */
export const leaseSchema = z.object({
  v: version,
  host: hostField,
  boot: bootField,
  renewal: z
    .int()
    .min(0)
    .describe('Rises with each renewal. A lease that has not changed for `duration` is free.'),
  duration: z.number().min(1).describe('Length of the lease, ms.'),
});
export const decodeLease = decoder(leaseSchema, 4 * 1024);

/** A value of the bucket `gleaner_policy`: parameters of an activation policy. */
export const policyParametersSchema = z.object({
  v: version,
  policy: word,
  function: functionField.nullable().describe('Null: for every function without its own.'),
  parameters: z
    .record(z.string().max(64), z.union([finite, z.string().max(256), z.boolean()]))
    .default({}),
  weights: z.array(finite).max(65_536).default([]),
  source: text.default('').describe('Name of a checkpoint, or an author.'),
});
export type PolicyParameters = z.infer<typeof policyParametersSchema>;
export const decodePolicyParameters = decoder(policyParametersSchema, 1024 * 1024);

export const policyKey = (policy: string, fn: string | null): string =>
  fn === null ? policy : `${policy}.${functionToken(fn)}`;

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
