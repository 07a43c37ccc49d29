import type { RunSummary } from './summary.js';

/**
 * The resource that a run was short of: `memory`, activations waited for memory while cores idled;
 * `cpu`, cores were nearly always busy.
 */
export type LimitingResource = 'cpu' | 'memory' | 'none';

/** Below this waits are rare events, as at the start of a burst. */
const NOTABLE_WAITED_SHARE = 0.05;
/** Mean wait over mean response above which callers notice it. */
const NOTABLE_WAIT_SHARE = 0.1;
const BUSY = 0.85;

/**
 * The resource that bounds a run. With busy cores it is CPU, even if activations wait for memory,
 * because memory is then held by activations that wait for CPU. Waiting with idle cores is memory:
 * OpenWhisk starts no container beyond its user memory.
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
