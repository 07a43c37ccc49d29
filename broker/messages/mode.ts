import { z } from 'zod';
import { functionToken } from '../function-token.js';
import { decoder } from './codec.js';
import { modeField, text, version, wallClock } from './fields.js';

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

/** The keys of the bucket: for all functions, and for one. */
export const MODE_GLOBAL = 'global';
export const modeKey = (fn: string): string => `function.${functionToken(fn)}`;
