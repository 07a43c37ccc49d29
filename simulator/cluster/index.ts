export { ClusterEnvironment, type ClusterEnvironmentOptions } from './environment.js';
export { type LimitingResource, limitingResource } from './limiting-resource.js';
export {
  type ClusterMode,
  type ClusterOptions,
  type ClusterShape,
  type ControlOptions,
  DEFAULT_CLUSTER,
  DEFAULT_CONTROL,
  type Failure,
  type LimitChange,
  type PolicyMaterial,
  type Prewarm,
  type Progress,
  type SimulatedSettings,
  simulatedOptions,
} from './options.js';
export {
  ActivationLog,
  type ActivationRecorder,
  ClusterOutcome,
  type SimulatedActivation,
  StartKind,
} from './recorder.js';
export { simulateCluster } from './simulate.js';
export type {
  FunctionSummary,
  HarvestTotals,
  OutcomeCounts,
  RunSummary,
  Series,
  StartCounts,
  Statistics,
} from './summary.js';
