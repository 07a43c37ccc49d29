export {
  ActivationBlock,
  type ActivationStream,
  PlanStream,
  type StreamedFunction,
} from './activation-stream.js';
export { type DataIssue, dataIssues, type ImportSummary } from './anomalies.js';
export { type AwareApp, awareApps } from './aware.js';
export { DemandTable } from './demand-table.js';
export { normalQuantile, quantile, scaled } from './distribution.js';
export { describeScaling, expectedLoad, scaleToLoad } from './offered-load.js';
export { activationStream, type LoadedWorkload, openWorkload } from './open.js';
export { PayloadStream } from './payload-stream.js';
export { type Plan, planWorkload } from './plan.js';
export { profiles12 } from './profiles-12.js';
export { CHANGE_SCENARIOS, type ChangeScenario } from './scenarios.js';
export { grownTo, INPUTS, type InputKind, SEGMENTS } from './segments.js';
export { shippedWorkload } from './shipped.js';
export { type Part, shippedSplit } from './splits.js';
export { type HostShape, resolveHosts } from './stated-host.js';
export { Table } from './table.js';
export { TraceError } from './trace-error.js';
export { checkWorkload, takeMinutes, type Workload, type WorkloadFunction } from './workload.js';
export { WorkloadStream } from './workload-stream.js';
