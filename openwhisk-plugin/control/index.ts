export { ActivationTracker, type RunIdentity } from './activation-tracker.js';
export { Activation, ManagedContainer } from './container.js';
export type { EndedActivation, EndReason } from './ended-activation.js';
<<<<<<< HEAD
export type { ExplainedGrant, Explanation } from './explanations.js';
=======
export { type ExplainedGrant, type Explanation, Explanations } from './explanations.js';
>>>>>>> 1fcc7c5 (Deliver the product's targets and host reports in the simulator)
export { FunctionRecord, type FunctionSettings, Revision } from './function-record.js';
export { HostController } from './host-controller.js';
export { allocatableOf, type HostState, hostReport } from './host-report.js';
export { amounts, observationOf } from './observation.js';
export type {
  FunctionDirectory,
  LimitChange,
  LimitPort,
  ReportPort,
  UsagePort,
} from './ports.js';
export { HeldTarget, type TargetRefusal, type TargetRules, targetRules } from './target.js';
