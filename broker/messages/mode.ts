import { z } from 'zod';
import { functionToken } from '../function-token.js';
import { decoder } from './codec.js';
import { modeField, text, version, wallClock } from './fields.js';

/**
 * A value of the bucket `gleaner_mode`: the kill switch and the mode for all (key {@link
 * MODE_GLOBAL}), or for one function.
 */
export const modeSchema = z.object({
  v: version,
  kill: z
    .boolean()
    .default(false)
    .describe(
      'True: every user limit is restored first, and nothing is written until it is false again. Only the global key counts.',
    ),
  paused: z
    .boolean()
    .default(false)
    .describe(
      'Of one function: user limits stand and nothing is written, whatever its mode. Kept over restarts.',
    ),
  mode: modeField.optional().describe('Absent: as configured.'),
  author: text.describe('Who set it and why, for the audit log.'),
  reason: text.default(''),
  at: wallClock.optional(),
});
export type ModeValue = z.infer<typeof modeSchema>;
export const decodeMode = decoder(modeSchema, 4 * 1024);

/** What the keys of the bucket are: for all, and for one function. */
export const MODE_GLOBAL = 'global';
export const modeKey = (fn: string): string => `function.${functionToken(fn)}`;
