export { ActivationExport } from './activation-export.js';
export { type Comparison, compareRuns } from './comparison.js';
export {
  type Contender,
  configuredContender,
  contender,
  contenderNames,
  FIXED,
  FLOORS,
  NOISE,
  REDRAWN,
  trainedContender,
  UnknownContenderError,
} from './contenders.js';
export type { Job, JobResult } from './job.js';
export { KeptRuns } from './kept-runs.js';
export { type ComparisonRequest, placeOf, planJobs, planSections } from './plan.js';
export { type PartOf, partOf, runJobs } from './pool.js';
export { comparisonOverview } from './report/overview.js';
export { comparisonReport } from './report/report.js';
export { runTable } from './report/run-table.js';
export { withVerdicts } from './report/verdict.js';
export { runsCsv } from './runs-csv.js';
export { withDefaultSizes } from './setting.js';
export { Slowdowns } from './slowdowns.js';
