import type { Observation } from '../../broker/messages/index.js';
import type { Decision } from '../resource-manager.js';
import { decisionOf, directionsOf, type Held, type SimppoSettings } from '../simppo/index.js';

/** The action nearest to a change, in steps of CPU, memory, containers: the largest one counts. */
export function nearestAction(steps: readonly number[]): number {
  let best = 0;
  let most = 0.5;
  steps.forEach((one, dimension) => {
    if (!(Math.abs(one) >= most)) return;
    most = Math.abs(one);
    best = 1 + 2 * dimension + (one > 0 ? 0 : 1);
  });
  return best;
}

export function stepsOf(
  before: Held,
  after: Held,
  byWeight: boolean,
  { actions }: SimppoSettings,
): number[] {
  const { dimensions, cpuStep, memoryStep, weightStep } = actions;
  const cpu = byWeight
    ? Math.log(after.cpu / before.cpu) / Math.log(weightStep)
    : (after.cpu - before.cpu) / cpuStep;
  return [
    dimensions.cpu ? cpu : 0,
    dimensions.memory ? (after.memory - before.memory) / memoryStep : 0,
    dimensions.containers ? after.containers - before.containers : 0,
  ];
}

/** The agent's action; in dimensions that it does not decide the fallback follows the load. */
export function decisionFor(
  action: number,
  held: Held,
  fallback: Decision,
  observation: Observation,
  { actions }: SimppoSettings,
): Decision {
  const { cpu: _cpu, weightFactor: _weightFactor, ...others } = fallback;
  const step = { held, directions: directionsOf(action) };
  return {
    ...(actions.dimensions.cpu ? others : fallback),
    ...decisionOf(step, held.cpu, observation, actions),
  };
}

/**
 * As hooks derive it from a CPU target (`HeldTarget` bounds it by the same 2); undefined: there is
 * none.
 */
export function factorOf(
  { weightFactor, cpu }: Decision,
  { user }: Observation,
  { actions: { maxWeightFactor } }: SimppoSettings,
): number | undefined {
  if (weightFactor !== undefined) return weightFactor;
  if (cpu === undefined || !(user.cpu > 0)) return undefined;
  return Math.min(maxWeightFactor, Math.max(1 / maxWeightFactor, cpu / user.cpu));
}
