export type { EndedActivation, EndReason } from './ended-activation.js';
export { type ExplainedGrant, type Explanation, Explanations } from './explanations.js';
export { FunctionRecord, type FunctionSettings, Revision } from './function-record.js';
export { allocatableOf, type HostState, hostReport } from './host-report.js';
export { amounts, observationOf } from './observation.js';
export { Step } from './step.js';
export { HeldTarget, type TargetRefusal, type TargetRules } from './target.js';
