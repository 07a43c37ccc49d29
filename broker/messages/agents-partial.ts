import { z } from 'zod';
import { decoder } from './codec.js';
import { count, finite, nonNegative, sender, totalAmounts, version } from './fields.js';

/** Most features of a local state, and most actions per decision. */
export const STATE_MAX = 32;
export const ACTIONS_MAX = 8;

/** Sums over agents, of one agent host or in total. */
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
 * Sums over one agent host's active agents (`agents.<host>`, agents → aggregator). `boot` and
 * `sequence` identify the batch, so that the host can subtract exactly its own part later.
 */
export const agentsPartialSchema = z
  .object({
    v: version,
    ...sender,
    interval: nonNegative
      .min(1)
      .describe("The sender's interval, ms: after 1.5 of them without a message it is left out."),
    sums: sumsSchema,
  })
  .refine(
    (value) => value.sums.state.length === value.sums.squares.length,
    'must have one square per feature',
  );
export type AgentsPartial = z.infer<typeof agentsPartialSchema>;
export const decodeAgentsPartial = decoder(agentsPartialSchema);
