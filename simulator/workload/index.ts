export { ANOMALIES, type Anomaly, type DataIssue, dataIssues, type ImportSummary, summaryLines } from './anomalies.js';
export { BURST, expectedActivations } from './arrivals.js';
export {
  AWARE_PARTS,
  type AwareApp,
  awareApps,
  awareFunction,
  awareLine,
  awareName,
  awareWorkload,
  composeAware,
} from './aware.js';
export { importAzure2019, type TraceFiles } from './azure-2019.js';
export { importAzure2021 } from './azure-2021.js';
export { builtinWorkloads } from './builtin.js';
export { ActivationBlock, type ActivationStream, PlanStream, type StreamedFunction } from './call-stream.js';
export { type DemandClass, demandClass } from './demand-classes.js';
export { type Distribution, mean, normalQuantile, quantile, scaled } from './distribution.js';
export {
  describeScaling,
  expectedLoad,
  type LoadScaling,
  type ScaledWorkload,
  scaleToLoad,
  spanMicros,
} from './offered-load.js';
export {
  activationStream,
  builtinWorkload,
  type LoadedWorkload,
  loadWorkloadPath,
  openWorkload,
  type WorkloadOptions,
} from './open.js';
export { PayloadStream } from './payload-stream.js';
export { compressionOf, offeredLoad, type Plan, planWorkload, soloMs } from './plan.js';
export { profiles12 } from './profiles-12.js';
export type { ImportOptions } from './recorded-function.js';
export { CHANGE_SCENARIOS, type ChangeScenario, scenarioPhases } from './scenarios.js';
export { INPUTS, type InputKind, SEGMENT_NAMES, SEGMENTS, type Segment, type SegmentName } from './segments.js';
export { loadWorkload, SHIPPED_WORKLOADS, type ShippedWorkload, shippedWorkload } from './shipped.js';
export { PARTS, type Part, SPLIT_MINUTES, type Split, shippedSplit, splitNames, takePart } from './splits.js';
export { declaredHosts, type HostShape, resolveHosts } from './stated-host.js';
export { Table } from './table.js';
export { TraceError } from './trace-error.js';
export type { TraceSource } from './trace-reader.js';
export {
  type Arrivals,
  type Compression,
  checkWorkload,
  compressForDocker,
  type Profile,
  parseWorkload,
  takeMinutes,
  WORKLOAD_VERSION,
  type Workload,
  WorkloadError,
  type WorkloadFunction,
  type WorkloadInput,
} from './workload.js';
export { PhasedStream, type StreamOptions, WorkloadStream } from './workload-stream.js';
