import { z } from 'zod';
import { functionToken } from '../function-token.js';
import { decoder } from './codec.js';
import { modeField, text, version, wallClock } from './fields.js';

/** A value of the bucket `gleaner_mode`: the kill switch and the mode for all (key {@link MODE_GLOBAL}), or for one function. */
export const modeSchema = z.object({
  v: version,
  /** True: every user limit is restored first, and nothing is written until it is false again. Only the global key counts. */
  kill: z.boolean().default(false),
  /** Absent: as configured. */
  mode: modeField.optional(),
  /** Who set it and why, for the audit log. */
  author: text,
  reason: text.default(''),
  at: wallClock.optional(),
});
export type ModeValue = z.infer<typeof modeSchema>;
export const decodeMode = decoder(modeSchema, 4 * 1024);

export const MODE_GLOBAL = 'global';
export const modeKey = (fn: string): string => `function.${functionToken(fn)}`;
