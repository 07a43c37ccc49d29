import { simulateCluster } from '../../simulator/engine/index.js';
import { answerPieces } from '../piece-threads.js';
import { type Job, runJob, WorkloadCache } from './job.js';

/** The other side of `runJobs`. */
const workloadCache = new WorkloadCache();
answerPieces((job: Job) => runJob(job, workloadCache, simulateCluster));
