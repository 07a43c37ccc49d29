import { z } from 'zod';
import { decoder } from './codec.js';
import { count, finite, nonNegative, sender, totalAmounts, version } from './fields.js';

/** Most features a local state may have, and most actions a function may take at once. */
export const STATE_MAX = 32;
export const ACTIONS_MAX = 8;

/** The quantities that add up over agents: both a partial sum and a total have this shape. */
export const sumsSchema = z.object({
  members: count,
  state: z
    .array(finite)
    .max(STATE_MAX)
    .describe('Sum over members of each local feature, and of its square.'),
  squares: z.array(nonNegative).max(STATE_MAX),
  actions: z
    .array(finite)
    .max(ACTIONS_MAX)
    .describe('Sum over members of each action in steps (horizontal, cpu, memory).'),
  allocated: totalAmounts
    .extend({ containers: nonNegative })
    .describe('Limits x containers, and containers.'),
  demand: totalAmounts,
});
export type Sums = z.infer<typeof sumsSchema>;

/**
 * Partial sums over one agent host's active agents (`agents.<host>`, → aggregator). `boot` and
 * `sequence` name the batch, so that a receiver of the mean field subtracts exactly its own record
 * of it.
 */
export const agentsPartialSchema = z
  .object({
    v: version,
    ...sender,
    interval: nonNegative
      .min(1)
      .describe("The sender's interval, ms: it leaves the totals after 1.5 of these in silence."),
    sums: sumsSchema,
  })
  .refine(
    (value) => value.sums.state.length === value.sums.squares.length,
    'has not one square per state',
  );
export type AgentsPartial = z.infer<typeof agentsPartialSchema>;
export const decodeAgentsPartial = decoder(agentsPartialSchema);
