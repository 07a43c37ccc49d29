export { ContainerState, Run } from './container-state.js';
export { hostSlowerThanControl, JUDGED_ACTIVATIONS, slowerThanControl } from './control-arm.js';
export { Decider, type Outcome, type SampleAction } from './decider.js';
export { FunctionState } from './function-state.js';
export { type ChoiceReason, Grant, type RangeReason } from './grant.js';
export { MemoryHeadroom } from './headroom.js';
export type { GrantChange } from './host-grants.js';
export { HostWeights, sharesRange, type WeightRange } from './host-weights.js';
export { FREE_LATE_CPU } from './late-cpu.js';
export { type Limits, NO_LIMIT, type UserLimits, type WriteResult } from './limits.js';
export type {
  ActivationPolicy,
  Oracle,
  PolicyContext,
} from './policies/activation-policy.js';
export { Choice, type ExperienceListener, experienceOf } from './policies/faasrm/experience.js';
export {
  amountFeature,
  durationFeature,
  rateFeature,
  shareFeature,
} from './policies/faasrm/features.js';
export { OptionScorer } from './policies/faasrm/scorer.js';
export { ACTOR_WEIGHTS, POLICY_WEIGHTS } from './policies/faasrm/weights.js';
export { createPolicy } from './policies/registry.js';
export type { Policies } from './policies-in-use.js';
export { cpuSpikeLevel, memorySpikeLevel } from './safeguard.js';
export {
  type CpuMode,
  type DecisionSettings,
  decisionSettings,
  defaultDecisionSettings,
  type HostCapacity,
} from './settings.js';
export {
  BOUND_CONTROL_NEEDED,
  BOUND_RUNS_NEEDED,
  isDeprioritized,
  meanTimeRatio,
} from './slowdown-bound.js';
export { emptySample, type UsageSample } from './usage-sample.js';
export { closeWindow } from './usage-window.js';
export { clampShares, MAX_SHARES, MIN_SHARES } from './weights.js';
