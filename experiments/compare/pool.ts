import { errorClass } from '../../config/index.js';
import { playInThreads } from '../piece-threads.js';
import type { Job, JobResult } from './job.js';

/** One run of a comparison failed; the others are of no use without it. */
export class ComparisonRunError extends errorClass('GLN_COMPARISON_RUN') {}

/**
 * Splits jobs where setting or seed changes, keeping their order: the jobs of a batch share a
 * workload, which the worker that takes them opens once.
 */
export function batches(jobs: readonly Job[]): Job[][] {
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
  let done = 0;
  await playInThreads(batches(jobs), {
    script: new URL('./worker.js', import.meta.url),
    workers: options.workers,
    onResult: (job, result) => {
      results[job.index] = result as JobResult;
      options.onDone?.(++done);
    },
    failure: (job, why, cause) => new ComparisonRunError(job ? nameOf(job) : 'a run', why, cause),
  });
  return results;
}

const nameOf = ({ contender, setting, seed }: Job): string =>
  `the run of ${contender.name} in '${setting.name}', seed ${seed},`;
