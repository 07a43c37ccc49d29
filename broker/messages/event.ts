import { z } from 'zod';
import { EVENT_KINDS } from '../tables.js';
import { decoder } from './codec.js';
import { finite, functionField, sender, text, version, wallClock } from './fields.js';

/** An event for operators (`event.<kind>.<fn>`). */
export const eventSchema = z.object({
  v: version,
  kind: z.enum(EVENT_KINDS),
  function: functionField.nullable().describe('Null: the event concerns the whole host.'),
  ...sender,
  at: wallClock.describe('For logs, never for decisions.'),
  resource: z.enum(['cpu', 'memory', 'containers', 'concurrency']).optional(),
  activation: z
    .string()
    .regex(/^[A-Za-z0-9]{1,64}$/)
    .optional(),
  container: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,128}$/)
    .optional(),
  before: finite
    .optional()
    .describe('Before and after, in the unit of the resource: millicores, bytes, pieces.'),
  after: finite.optional(),
  reason: text.describe('A code, or a sentence.'),
});
export type GleanerEvent = z.infer<typeof eventSchema>;
export const decodeEvent = decoder(eventSchema, 8 * 1024);
