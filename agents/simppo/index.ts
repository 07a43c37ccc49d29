export {
  apply,
  type Bounds as ActionBounds,
  boundsOf as actionBoundsOf,
  directionsOf,
  executed,
  granted,
  type Held,
  maskOf,
  SIMPPO_ACTIONS,
} from './actions.js';
export {
  CPU_MODES,
  type CpuMode as SimppoMode,
  expectedPolicy,
  newWeights,
  policyCheckpoint,
  policyState,
  shippedFolder,
  shippedPolicy,
  simppoShape,
} from './base-policy.js';
export { type BasePolicyStore, BrokerBasePolicyStore, type BrokerBasePolicyStoreOptions } from './base-shelf.js';
export { SimppoByMode } from './by-mode.js';
export { featuresOf, inputOf, OWN_FEATURES, VIRTUAL, virtualFeatures } from './features.js';
export { LearningPolicy } from './learning-policy.js';
export { createSimppo, SIMPPO_NAMES, type SimppoName, settingsOf, threadEngine } from './make.js';
export { SimppoManager, type SimppoOptions } from './manager.js';
export { BrokerOwnPolicyStore, functionOfPolicy, type OwnPolicyStore } from './policy-shelf.js';
export { anyOf, MarkTrigger, type RetrainTrigger, RevisionTrigger } from './retrain-trigger.js';
export { chargeOf, rewardOf } from './reward.js';
export * from './settings.js';
export { type HostState, hostStateOf, slowdownIn } from './sight.js';
export { blend, nearest, type Profile, profileOf } from './similarity.js';
export { type SimppoState, withHost } from './state.js';
export type { TrajectoryStep } from './trajectory-step.js';
export { widenPolicy, widenPolicyInputs } from './widen.js';
