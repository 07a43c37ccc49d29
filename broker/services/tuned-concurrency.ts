import { z } from 'zod';
import { count, functionField, text, word } from '../messages/index.js';

const seen = { activations: count, failures: count, oomKills: count };

/** The concurrency tuner's target for one action. */
export const tunedConcurrencySchema = z.object({
  function: functionField,
  revision: text.describe('Revision of the action.'),
  limit: count.describe('Limit in force, as the platform reports it.'),
  targetLimit: count.describe('Equals `limit` if nothing should change.'),
  reason: word.describe(
    'Such as `holding`, `frozen` while the agent learns, `searched` after a step, ' +
      '`unsafe` if the limit in force causes failures or OOM kills.',
  ),
  unsafeLimit: z
    .object({ limit: count, ...seen, user: z.object({ limit: count, ...seen }) })
    .optional()
    .describe(
      "Lowest limit with more failures or OOM kills than the user's own. " +
        'It and higher limits are not tried again. Absent: none.',
    ),
  searchSteps: count.describe('Steps since this agent host has the function.'),
});
export type TunedConcurrency = Readonly<z.output<typeof tunedConcurrencySchema>>;
