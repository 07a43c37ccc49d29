import type { Observation } from '../../broker/index.js';
import type { Bytes, Millicores, Millis } from '../../config/index.js';
import type { Decision } from '../resource-manager.js';
import { directionsOf, granted, type Held, type SimppoSettings } from '../simppo/index.js';

/** What is remembered of a function on one host; plain. */
export interface AwareSight {
  readonly byWeight: boolean;
  readonly held: Held;
  readonly at: Millis;
  readonly rate: number;
  readonly cpuPeak: number;
  readonly memoryPeak: number;
  /** Mean latency of the control arm, ms, and how many runs it stands for. */
  readonly control: { readonly mean: number; readonly runs: number };
}

const CONTROL_MAX = 200;
const CONTROL_LEAST = 3;

/** What a host's new observation says of the function there. */
export function sightOf(
  known: AwareSight | undefined,
  observation: Observation,
  { actions }: SimppoSettings,
  now: Millis,
): AwareSight {
  const { user, peak, activations, control, span, containers, cpuMode } = observation;
  const byWeight = cpuMode === 'weight';
  const decay = known === undefined ? 0 : 2 ** (-(now - known.at) / actions.range.halfLife);
  const runs = (known?.control.runs ?? 0) + control.activations;
  const mean = known?.control.mean ?? 0;
  // A factor on a weight and millicores of a quota are not each other's continuation.
  const held = known !== undefined && known.byWeight === byWeight ? known.held : undefined;
  return {
    byWeight,
    held: granted(
      held ?? { cpu: byWeight ? 1 : user.cpu, memory: user.memory, containers: Math.max(1, containers) },
      observation,
    ),
    at: now,
    rate: span >= 1 ? (1000 * (activations + control.activations)) / span : (known?.rate ?? 0),
    cpuPeak: Math.max(peak.cpu, (known?.cpuPeak ?? 0) * decay),
    memoryPeak: Math.max(peak.memory, (known?.memoryPeak ?? 0) * decay),
    control: {
      mean: runs > 0 ? mean + ((control.mean - mean) * control.activations) / runs : 0,
      runs: Math.min(CONTROL_MAX, runs),
    },
  };
}

/** ln(mean latency / control arm's mean), cut to +-1; 0 while either is unknown. */
export function slowdownIn({ latency }: Observation, { control }: AwareSight): number {
  if (control.runs < CONTROL_LEAST || !(control.mean > 0) || !(latency.sum > 0)) return 0;
  const count = latency.counts.reduce((sum, one) => sum + one, 0);
  return count > 0 ? Math.min(1, Math.max(-1, Math.log(latency.sum / count / control.mean))) : 0;
}

/** The action that comes nearest to what a free hand has changed: the dimension that moved by most steps. */
export function nearestAction(before: Held, after: Held, byWeight: boolean, { actions }: SimppoSettings): number {
  const cpu = byWeight
    ? Math.log(after.cpu / before.cpu) / Math.log(actions.weightStep)
    : (after.cpu - before.cpu) / actions.cpuStep;
  const memory = (after.memory - before.memory) / actions.memoryStep;
  const containers = after.containers - before.containers;
  const { dimensions } = actions;
  const steps = [dimensions.cpu ? cpu : 0, dimensions.memory ? memory : 0, dimensions.containers ? containers : 0];
  let best = 0;
  let most = 0.5;
  steps.forEach((one, dimension) => {
    if (!(Math.abs(one) >= most)) return;
    most = Math.abs(one);
    best = 1 + 2 * dimension + (one > 0 ? 0 : 1);
  });
  return best;
}

/** What is held after an action, as a wish. */
export function wishOf(
  action: number,
  { cpu, memory, containers }: Held,
  { cpuMode }: Observation,
  { actions }: SimppoSettings,
): Decision {
  const { dimensions } = actions;
  return {
    ...(!dimensions.cpu ? {} : cpuMode === 'weight' ? { weightFactor: cpu } : { cpu: cpu as Millicores }),
    ...(dimensions.memory ? { memory: Math.round(memory) as Bytes } : {}),
    ...(dimensions.containers ? { containers } : {}),
    actions: directionsOf(action),
  };
}
