import { spawnSync } from 'node:child_process';

/** What Node takes to start and end on the machine for which the tests' deadlines were chosen. */
const USUAL_MILLIS = 45;
const ROUNDS = 5;
/** With longer deadlines a test that hangs would hold up all others. */
const MOST = 4;

function startMillis() {
  const begun = performance.now();
  spawnSync(process.execPath, ['--eval', '0'], { env: {} });
  return performance.now() - begun;
}

/**
 * How many times longer than usual this machine takes for what tests do most, which is to start
 * processes; at least 1. The best of a few rounds counts, as others may run beside some of them.
 */
export function measuredSlowness() {
  const best = Math.min(...Array.from({ length: ROUNDS }, startMillis));
  return Math.min(MOST, Math.max(1, Math.round((10 * best) / USUAL_MILLIS) / 10));
}
