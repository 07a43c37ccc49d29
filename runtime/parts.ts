import type { Running } from './child.js';
import type { Part } from './wiring/index.js';

/**
 * The long-running parts. Each loads its own modules only when it starts, so that none holds the
 * others in memory.
 */
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
