export { ActivationTracker } from './activation-tracker.js';
export { Activation, ManagedContainer } from './container.js';
export type { EndedActivation, EndReason } from './ended-activation.js';
export type { Explanation } from './explanations.js';
export { FunctionRecord, type FunctionSettings, Revision } from './function-record.js';
export { HostController } from './host-controller.js';
export { hostReport, isActive } from './host-report.js';
export { amounts, closeStep } from './observation.js';
export type {
  FunctionDirectory,
  LimitChange,
  LimitPort,
  ReportPort,
  UsagePort,
} from './ports.js';
export type { StepLength } from './step.js';
export { type TargetRefusal, type TargetRules, targetRules } from './target.js';
