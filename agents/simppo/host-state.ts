import type { Observation } from '../../broker/messages/index.js';
import type { Millis } from '../../config/index.js';
import type { Cap, View } from '../resource-manager.js';
import { boundsOf, granted, type Held } from './actions.js';
import { inputOf, type Remembered } from './features.js';
import type { SimppoSettings } from './settings.js';

/** What is remembered of a function on one host; small and plain, so that it can be shown. */
export interface HostState {
  /** What `held.cpu` is: a factor on the weight, or millicores. */
  readonly byWeight: boolean;
  readonly held: Held;
  readonly at: Millis;
  /** Activations a second. */
  readonly rate: number;
  /**
   * Highest peaks remembered, millicores and bytes. They have the safeguard's half-life, but the
   * newest runs do not count whole as there: the shipped policies learned with it.
   */
  readonly cpuPeak: number;
  readonly memoryPeak: number;
  /** Mean latency of the control arm, ms, and how many runs it stands for. */
  readonly control: { readonly mean: number; readonly runs: number };
}

/** Most control runs that a mean stands for, and the fewest from which it counts. */
const CONTROL_MAX = 200;
const CONTROL_MIN = 3;

/** The function's state on a host after an observation. */
function hostStateOf(
  known: HostState | undefined,
  observation: Observation,
  halfLife: Millis,
  now: Millis,
): HostState {
  const { user, peak, activations, control, span, containers, cpuMode } = observation;
  const byWeight = cpuMode === 'weight';
  const decay = known === undefined ? 0 : 2 ** (-(now - known.at) / halfLife);
  const runs = (known?.control.runs ?? 0) + control.activations;
  const mean = known?.control.mean ?? 0;
  // A factor on a weight and millicores of a quota are not each other's continuation.
  const held = known !== undefined && known.byWeight === byWeight ? known.held : undefined;
  return {
    byWeight,
    held: granted(
      held ?? {
        cpu: byWeight ? 1 : user.cpu,
        memory: user.memory,
        containers: Math.max(1, containers),
      },
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
function slowdownIn({ latency }: Observation, { control }: HostState): number {
  if (control.runs < CONTROL_MIN || !(control.mean > 0) || !(latency.sum > 0)) return 0;
  const count = latency.counts.reduce((sum, one) => sum + one, 0);
  return count > 0 ? Math.min(1, Math.max(-1, Math.log(latency.sum / count / control.mean))) : 0;
}

/** Directions of an agent that has made no step yet. */
const NO_STEP = [0, 0, 0] as const;

/** What an agent knows before it decides: the host's state, the bounds and the networks' input. */
export function situationOf(
  known: (HostState & { readonly last?: Remembered['last'] }) | undefined,
  view: View,
  { settings, cap }: { readonly settings: SimppoSettings; readonly cap: Cap },
  now: Millis,
) {
  const { observation } = view;
  const seen = hostStateOf(known, observation, settings.hook.halfLife, now);
  const slowdown = slowdownIn(observation, seen);
  const peaks = { cpu: seen.cpuPeak, memory: seen.memoryPeak };
  const bounds = boundsOf(observation, peaks, cap, settings);
  const remembered: Remembered = {
    held: seen.held,
    rates: [known?.rate ?? 0, seen.rate],
    slowdown,
    last: known?.last ?? NO_STEP,
  };
  const input = inputOf(view, remembered, bounds, settings.virtual);
  return { seen, slowdown, bounds, input };
}
