import { type ClusterTotals, idleOf, type ScalingState } from './agent/state.js';
import type { ScaledState, ScalingCluster } from './scaling-cluster.js';

/** Waiting activations below this share of the window's are no tail of their own. */
const WAITING_SHARE = 0.01;

/** What an agent sees of one function after a step. */
function scalingStateOf(
  { queue, held, responses, slo, fn, granted }: ScaledState,
  cluster: ScalingCluster,
): ScalingState {
  const { window } = queue;
  const { stepMs } = cluster.options;
  const done = window.ended + window.killed + window.lost;
  const busy = Math.min(1, window.busy / (held.containers * stepMs));
  const peaks = window.ended + window.killed;
  const peak = peaks > 0 ? window.peakSum / peaks : 0;
  const { waiting } = queue;
  const age = waiting > WAITING_SHARE * responses.samples ? cluster.now - queue.waitingSince : 0;
  return {
    held: { ...held },
    cpuUse: granted > 0 ? Math.min(1, window.cpu / granted) : 0,
    memoryUse: Math.min(1, (busy * Math.max(peak, fn.base) + (1 - busy) * fn.base) / held.memory),
    busy,
    rate: (1000 * window.arrived) / stepMs,
    tail: Math.max(responses.tail, age),
    slo,
    waiting,
    failed: done > 0 ? (window.killed + window.lost) / done : 0,
    late: done > 0 ? (window.late + window.killed + window.lost) / done : 0,
  };
}

export const scalingStatesOf = (cluster: ScalingCluster): ScalingState[] =>
  cluster.states.map((state) => scalingStateOf(state, cluster));

/** The totals of a step, as the aggregator adds them up. */
export function totalsOf({ capacity, allocated, states }: ScalingCluster): ClusterTotals {
  let idle = 0;
  for (const { held, queue, granted } of states)
    idle += idleOf(
      held.cpu * held.containers,
      granted > 0 ? Math.min(1, queue.window.cpu / granted) : 0,
    );
  return { capacity, allocated, idle };
}
