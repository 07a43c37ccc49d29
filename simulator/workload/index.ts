export {
  ActivationBlock,
  type ActivationStream,
  type StreamedFunction,
} from './activation-stream.js';
export { type DataIssue, dataIssues, type ImportSummary } from './anomalies.js';
export { type AwareApp, awareApps } from './aware.js';
export { azureTen, profiles12 } from './builtin.js';
export { DemandTable } from './demand-table.js';
export { normalQuantile, quantile, scaled } from './distribution.js';
export { describeScaling, expectedLoad, scaleToLoad } from './offered-load.js';
export {
  activationStream,
  type HostShape,
  type LoadedWorkload,
  openWorkload,
  resolveHosts,
} from './open.js';
export { PayloadStream } from './payload-stream.js';
export { type Plan, PlanStream, planWorkload } from './plan.js';
export { CHANGE_SCENARIOS, type ChangeScenario } from './scenarios.js';
export { grownTo, INPUTS, type InputKind, SEGMENTS } from './segments.js';
export { type Part, shippedSplit } from './splits.js';
export { Table } from './table.js';
export { TraceError } from './trace-error.js';
export { checkWorkload, takeMinutes, type Workload, type WorkloadFunction } from './workload.js';
export { WorkloadStream } from './workload-stream.js';
