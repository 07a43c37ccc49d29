export {
  apply,
  type Bounds as ActionBounds,
  directionsOf,
  executed,
  granted,
  type Held,
  maskOf,
  SIMPPO_ACTIONS,
} from './actions.js';
export { expectedPolicy, policyCheckpoint, policyState, shippedFolder, shippedPolicy } from './base-policy.js';
export { featuresOf, inputOf, OWN_FEATURES, VIRTUAL, virtualFeatures } from './features.js';
export { LearningPolicy } from './learning-policy.js';
export { createSimppo, SIMPPO_NAMES, type SimppoName, settingsOf, threadEngine } from './make.js';
export { newWeights, SimppoManager, type SimppoState, simppoShape } from './manager.js';
export { chargeOf, rewardOf } from './reward.js';
export * from './settings.js';
export { InlineTrainer, ThreadTrainer, type Trainer } from './trainer.js';
