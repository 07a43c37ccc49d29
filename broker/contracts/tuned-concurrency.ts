import { z } from 'zod';
import { count, functionField, text, word } from '../messages/fields.js';

/** What the concurrency tuner wishes for one action. */
export const tunedConcurrencySchema = z.object({
  function: functionField,
  revision: text.describe('Of which code and memory.'),
  limit: count.describe('In force, as the platform says.'),
  wish: count.describe('The limit itself where nothing shall change.'),
  reason: word.describe('Why: `holding`, `frozen` while the agent learns, `searched` after a step, and so on.'),
  searched: count.describe('Steps since this agent host has the function.'),
});
export type TunedConcurrency = Readonly<z.output<typeof tunedConcurrencySchema>>;
