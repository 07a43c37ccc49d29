import { appendFileSync, openSync, readSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';

/**
 * Loaded with `--import` into the process whose event loop is watched: the hook's, in a Gleaner
 * started with `GLEANER_LOOP_PROBE=<file>`. Every 50 ms a timer; what it is late by is a sample.
 * (Every 10 ms it took .3 % of a core, which counts as the hook's.)
 * Once a second a line of the file, a {@link LoopSecond}.
 */
export interface LoopSecond {
  /** us. */
  readonly late: number[];
  /**
   * For each of `late`: how long of the time since the one before the main thread could have run
   * and had no core, us.
   */
  readonly waited: number[];
  /** Collections of garbage, ms. */
  readonly collections: number[];
}

const INTERVAL = 50;
const file = process.env.GLEANER_LOOP_PROBE;

if (file !== undefined && process.argv.includes('hook')) {
  const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const text = Buffer.alloc(64);
  /** The second of three numbers: time in the run queue, ns. */
  const waitedSoFar = (): number =>
    Number(text.toString('latin1', 0, readSync(schedstat, text, 0, text.length, 0)).split(' ')[1]) /
    1000;
  let late: number[] = [];
  let waited: number[] = [];
  let collections: number[] = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collections.push(duration);
  }).observe({ entryTypes: ['gc'] });
  let last = performance.now();
  let second = last;
  let queued = waitedSoFar();
  setInterval(() => {
    const now = performance.now();
    const before = queued;
    queued = waitedSoFar();
    late.push(Math.max(0, Math.round((now - last - INTERVAL) * 1000)));
    waited.push(Math.round(queued - before));
    last = now;
    if (now - second < 1000) return;
    second = now;
    appendFileSync(file, `${JSON.stringify({ late, waited, collections } satisfies LoopSecond)}\n`);
    [late, waited, collections] = [[], [], []];
    last = performance.now();
  }, INTERVAL).unref();
}
