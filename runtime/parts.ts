import type { Running } from './child.js';
import type { Part } from './wiring/index.js';

/** Each part loads its modules when it starts, so that no process holds those of the others. */
export const parts = {
  hook: async (inputs) => (await import('./wiring/hook.js')).runHookPart(inputs),
  agents: async (inputs) => (await import('./wiring/agents.js')).runAgentsPart(inputs),
  aggregator: async (inputs) => (await import('./wiring/aggregator.js')).runAggregatorPart(inputs),
} as const satisfies Record<string, Part>;

/** Plays the configured workload on real containers. */
export async function playDockerWorkload(
  ...parameters: Parameters<typeof import('./wiring/docker-workload.js').runDockerWorkload>
): Promise<Running> {
  return (await import('./wiring/docker-workload.js')).runDockerWorkload(...parameters);
}
