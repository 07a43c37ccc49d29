export {
  apply,
  type Bounds as ActionBounds,
  directionsOf,
  executed,
  type Held,
  maskOf,
  SIMPPO_ACTIONS,
} from './actions.js';
export {
  expectedPolicy,
  policyCheckpoint,
  shippedPolicy,
  simppoShape,
} from './base-policy.js';
export { VIRTUAL, virtualFeatures } from './features.js';
export { type HostState, situationOf } from './host-state.js';
export {
  createSimppo,
  SIMPPO_NAMES,
  type SimppoName,
  type SimppoParts,
  settingsOf,
  threadEngine,
} from './make.js';
export { SimppoManager } from './manager.js';
export { functionOfPolicy } from './own-policy-store.js';
export { RevisionTrigger } from './retrain-trigger.js';
export {
  congestionCharge,
  publishedReward,
  rewardOf,
  type ScalingOutcome,
  scalingReward,
} from './reward.js';
export {
  type ActionStepSettings,
  type HookRules,
  hookRules,
  type ScalingRewardSettings,
  type SimppoSettings,
  scalingRewardSettings,
  simppoSettings,
  type VirtualAgent,
} from './settings.js';
export { withHost } from './state.js';
export { type Directions, decisionOf, type SimppoStep, takeStep } from './step.js';
export type { TrajectoryStep } from './trajectory-step.js';
export { widenPolicy, widenPolicyInputs } from './widen-policy.js';
