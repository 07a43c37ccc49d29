import { errorClass } from '../../config/index.js';
import { playInThreads } from '../piece-threads.js';
import type { Job, JobResult } from './job.js';
import type { KeptRuns } from './kept-runs.js';

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

/** One of `of` disjoint parts, from 1. */
export interface PartOf {
  readonly part: number;
  readonly of: number;
}

/** Batches take turns, so that seeds of a setting are spread over the parts. */
export const partOf = (jobs: readonly Job[], { part, of }: PartOf): Job[] =>
  batches(jobs)
    .filter((_, i) => i % of === part - 1)
    .flat();

/**
 * Runs jobs on worker threads. Results are in the order of the jobs and no job affects another: the
 * number of workers changes only the duration. Those in `kept` are read from there, others saved.
 *
 * @throws ComparisonRunError with the run that failed
 */
export async function runJobs(
  jobs: readonly Job[],
  options: {
    readonly workers: number;
    readonly kept?: KeptRuns;
    readonly onDone?: (done: number) => void;
  },
): Promise<JobResult[]> {
  const { workers, kept, onDone } = options;
  const results: JobResult[] = [];
  const missing = jobs.filter((job) => {
    const result = kept?.read(job);
    if (result !== undefined) results[job.index] = result;
    return result === undefined;
  });
  let done = jobs.length - missing.length;
  onDone?.(done);
  await playInThreads(batches(missing), {
    script: new URL('./worker.js', import.meta.url),
    workers,
    onResult: (job, result) => {
      results[job.index] = result as JobResult;
      kept?.save(job, result as JobResult);
      onDone?.(++done);
    },
    failure: (job, why, cause) => new ComparisonRunError(job ? nameOf(job) : 'a run', why, cause),
  });
  return results;
}

const nameOf = ({ contender, setting, seed }: Job): string =>
  `the run of ${contender.name} in '${setting.name}', seed ${seed},`;
