import { Worker } from 'node:worker_threads';
import { errorClass } from '../../config/index.js';
import type { Job, JobResult } from './job.js';

/** Jobs of one setting and seed share a workload, so a worker takes them together. */
export type Batch = readonly Job[];

export type FromWorker =
  | { readonly result: JobResult }
  | { readonly failed: { readonly index: number; readonly error: string } }
  | { readonly idle: true };

/** One run of a comparison failed; the others are of no use without it. */
export class ComparisonRunError extends errorClass('GLN_COMPARISON_RUN') {}

/** Splits jobs where setting or seed changes, keeping their order. */
export function batches(jobs: readonly Job[]): Batch[] {
  const all: Job[][] = [];
  for (const job of jobs) {
    const last = all.at(-1);
    const before = last?.[0];
    if (last !== undefined && before?.setting === job.setting && before.seed === job.seed)
      last.push(job);
    else all.push([job]);
  }
  return all;
}

/**
 * Runs jobs on worker threads. Results are in the order of the jobs and no job affects another: the
 * number of workers changes only the duration.
 *
 * @throws ComparisonRunError with the run that failed
 */
export async function runJobs(
  jobs: readonly Job[],
  options: { readonly workers: number; readonly onDone?: (done: number) => void },
): Promise<JobResult[]> {
  const results: JobResult[] = [];
  const waiting = batches(jobs);
  const count = Math.max(1, Math.min(options.workers, waiting.length));
  let done = 0;
  const threads = Array.from(
    { length: count },
    () => new Worker(new URL('./worker.js', import.meta.url)),
  );
  const finished = threads.map(
    (thread) =>
      new Promise<void>((resolve, reject) => {
        const next = (): void => {
          const batch = waiting.shift();
          if (batch === undefined) resolve();
          else thread.postMessage(batch);
        };
        thread.on('message', (message: FromWorker) => {
          if ('idle' in message) next();
          else if ('failed' in message)
            reject(failure(jobs[message.failed.index], message.failed.error));
          else {
            results[message.result.index] = message.result;
            options.onDone?.(++done);
          }
        });
        thread.on('error', (error) => reject(failure(undefined, error.message, error)));
        thread.on('exit', () => reject(failure(undefined, 'a worker ended before its work did')));
        next();
      }),
  );
  try {
    await Promise.all(finished);
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
  return results;
}

function failure(job: Job | undefined, message: string, cause?: unknown): ComparisonRunError {
  const run =
    job === undefined
      ? 'a run'
      : `the run of ${job.contender.name} in '${job.setting.name}', seed ${job.seed},`;
  return new ComparisonRunError(run, message, cause);
}
