import { appendFileSync } from 'node:fs';

/**
 * Loaded with `--import` into the process whose event loop is watched: the hook's, in a Gleaner started with `GLEANER_LOOP_PROBE=<file>`.
 * Every 10 ms a timer; what it is late by, us, is a sample. Once a second the samples of that second become a line of the file.
 */
const INTERVAL = 10;
const file = process.env.GLEANER_LOOP_PROBE;

if (file !== undefined && process.argv.includes('hook')) {
  let last = performance.now();
  let second = last;
  let late: number[] = [];
  setInterval(() => {
    const now = performance.now();
    late.push(Math.max(0, Math.round((now - last - INTERVAL) * 1000)));
    last = now;
    if (now - second < 1000) return;
    second = now;
    appendFileSync(file, `${late.join(' ')}\n`);
    late = [];
    last = performance.now();
  }, INTERVAL).unref();
}
