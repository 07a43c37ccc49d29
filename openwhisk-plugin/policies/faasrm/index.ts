export { FaasrmPolicy } from './faasrm-policy.js';
export {
  amountFeature,
  durationFeature,
  FEATURE_LAYOUT,
  rateFeature,
  STATE_FEATURES,
  shareFeature,
} from './features.js';
export * from './lesson.js';
export { LEVELS, OPTIONS } from './options.js';
export { OptionScorer, ScorerUnavailableError } from './scorer.js';
export { ACTOR_WEIGHTS, POLICY_WEIGHTS } from './weights.js';
