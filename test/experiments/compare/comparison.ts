import {
  type Comparison,
  type ComparisonRequest,
  compareRuns,
  planJobs,
  planSections,
} from '../../../experiments/compare/index.js';
import { runJob, WorkloadCache } from '../../../experiments/compare/job.js';
import { toyEngine } from './toy-engine.js';

export const REQUEST: ComparisonRequest = {
  contenders: ['short-first', 'greedy'],
  seeds: [1, 2, 3],
  workloads: ['azure-ten'],
  loads: [0.5, 0.7],
  modes: ['weight', 'quota'],
  hosts: { hosts: 1, cores: 2, memoryMiB: 8192, userMemoryMiB: 4096 },
  defaultHosts: { hosts: 30, cores: 8, memoryMiB: 32_768, userMemoryMiB: 24_576 },
  densityMiB: [2048, 8192],
};

let made: Comparison | undefined;

/** The comparison of `REQUEST` by the toy engine. */
export function toyComparison(): Comparison {
  made ??= toyComparisonOf(REQUEST);
  return made;
}

export function toyComparisonOf(request: ComparisonRequest): Comparison {
  const sections = planSections(request);
  const jobs = planJobs(sections, request.seeds);
  const workloadCache = new WorkloadCache();
  const results = jobs.map((job) => runJob(job, workloadCache, toyEngine));
  return compareRuns(sections, jobs, results, {
    command: 'gleaner compare',
    gleaner: '0.1.0',
    seeds: request.seeds,
  });
}
