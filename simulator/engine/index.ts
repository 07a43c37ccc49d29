export { OnCore } from './activations.js';
export { PERIOD_MICROS } from './cfs.js';
export { Cluster } from './cluster.js';
export { ContainerStatus } from './containers.js';
export type { LimitController } from './limit-controller.js';
export { limitingResource } from './limiting-resource.js';
export {
  type ClusterMode,
  type ClusterOptions,
  type ClusterShape,
  DEFAULT_CLUSTER,
  DEFAULT_CONTROL,
  type PolicyMaterial,
  type SimulatedSettings,
  simulatedOptions,
} from './options.js';
export { ENOUGH, SLOW } from './outcome-statistics.js';
export {
  ActivationLog,
  type ActivationRecorder,
  ClusterOutcome,
  type SimulatedActivation,
  StartKind,
} from './recorder.js';
export { simulateCluster } from './simulate.js';
export type { RunSummary, Series, Statistics } from './summary.js';
