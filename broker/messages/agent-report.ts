import { z } from 'zod';
import { ACTIONS_MAX, STATE_MAX } from './agents-partial.js';
import { decoder } from './codec.js';
import { count, cpu, finite, functionField, memory, sender, version, word } from './fields.js';

/** An agent's features, action and reward (`agent.<fn>`, for inspection; may be sampled). */
export const agentReportSchema = z.object({
  v: version,
  function: functionField,
  ...sender,
  manager: word,
  phase: word.describe(
    'Life-cycle phase: `offline`, `online` or `serving`; `managing` if the manager does not learn.',
  ),
  step: count,
  features: z.array(finite).max(STATE_MAX * 3),
  actions: z.array(finite).max(ACTIONS_MAX),
  reward: finite.optional().describe('Absent for a manager without a reward, or before the first.'),
  target: z.object({
    cpu: cpu.optional(),
    memory: memory.optional(),
    containers: count.optional(),
  }),
});
export type AgentReport = z.infer<typeof agentReportSchema>;
export const decodeAgentReport = decoder(agentReportSchema);
