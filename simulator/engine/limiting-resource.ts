import type { RunSummary } from './summary.js';

/**
 * What a run was short of: `memory`, activations waited for room while cores idled; `cpu`, cores
 * were nearly always busy.
 */
export type LimitingResource = 'cpu' | 'memory' | 'none';

/** Below this a wait for room is a rare event, as when a burst begins. */
const NOTABLE_WAITED_SHARE = 0.05;
/** Mean wait over mean response from which waiting is what callers notice. */
const NOTABLE_WAIT_SHARE = 0.1;
const BUSY = 0.85;

/**
 * Which resource bounds a run. Cores that are busy are short whoever waits: what waits for room
 * then waits for CPU, too. A wait for room with idle cores is memory: OpenWhisk starts no container
 * that user memory does not hold.
 */
export function limitingResource(
  run: Pick<RunSummary, 'activations' | 'waited' | 'waitMeanMs' | 'responseMs' | 'utilization'>,
): LimitingResource {
  if (run.utilization >= BUSY) return 'cpu';
  const waitedShare = run.activations === 0 ? 0 : run.waited / run.activations;
  const meanWaitMs = waitedShare * run.waitMeanMs;
  return waitedShare >= NOTABLE_WAITED_SHARE &&
    meanWaitMs >= NOTABLE_WAIT_SHARE * run.responseMs.mean
    ? 'memory'
    : 'none';
}
