import { z } from 'zod';
import { count, functionField, text, word } from '../messages/index.js';

const seen = { activations: count, failures: count, oomKills: count };

/** What the concurrency tuner wishes for one action. */
export const tunedConcurrencySchema = z.object({
  function: functionField,
  revision: text.describe('Of which code and memory.'),
  limit: count.describe('In force, as the platform says.'),
  targetLimit: count.describe('The limit itself where nothing shall change.'),
  reason: word.describe(
    'Why: `holding`, `frozen` while the agent learns, `searched` after a step, `unsafe` where the limit in force does harm, and so on.',
  ),
  unsafeLimit: z
    .object({ limit: count, ...seen, user: z.object({ limit: count, ...seen }) })
    .optional()
    .describe(
      'The lowest limit that did harm, by failed calls or OOM kills more than at the limit of its user; neither it nor one above it is tried again. Absent: none.',
    ),
  searchSteps: count.describe('Steps since this agent host has the function.'),
});
export type TunedConcurrency = Readonly<z.output<typeof tunedConcurrencySchema>>;
