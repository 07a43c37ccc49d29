import { z } from 'zod';
import { EVENT_KINDS } from '../event-kind.js';
import { decoder } from './codec.js';
import { finite, functionField, sender, text, version, wallClock } from './fields.js';

/** Something worth telling an operator (`event.<kind>.<fn>`). */
export const eventSchema = z.object({
  v: version,
  kind: z.enum(EVENT_KINDS),
  /** Null: of the whole host. */
  function: functionField.nullable(),
  ...sender,
  /** For people's eyes and logs, never for decisions. */
  at: wallClock,
  resource: z.enum(['cpu', 'memory', 'containers', 'concurrency']).optional(),
  activation: z
    .string()
    .regex(/^[A-Za-z0-9]{1,64}$/)
    .optional(),
  container: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,128}$/)
    .optional(),
  /** In the resource's unit: millicores, bytes, pieces. */
  before: finite.optional(),
  after: finite.optional(),
  reason: text,
});
export type GleanerEvent = z.infer<typeof eventSchema>;
export const decodeEvent = decoder(eventSchema, 8 * 1024);
