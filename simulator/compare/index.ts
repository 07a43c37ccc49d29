export { type Comparison, compareRuns, type MetricInfo, type Row, type Section } from './comparison.js';
export {
  type Contender,
  configuredContender,
  contender,
  contenderNames,
  DEFAULT,
  FIXED,
  FLOORS,
  lineUp,
  NOISE,
  UnknownContenderError,
} from './contenders.js';
export { type Engine, type Job, type JobResult, runJob, WorkloadCache } from './job.js';
export { type Figures, figuresOf, METRICS, type Metric } from './metrics.js';
export { type ComparisonRequest, placeOf, planJobs, planSections, type SectionPlan } from './plan.js';
export { batches, ComparisonRunError, runJobs } from './pool.js';
export { csvCell, runsCsv } from './runs-csv.js';
export { type Setting, withDefaultSizes } from './setting.js';
export { bootstrapMean, type Interval, type Paired, pairedWith, quantileOf } from './statistics.js';
export type { Victim, Victims } from './victims.js';
