export * from './experience.js';
export { FaasrmPolicy } from './faasrm-policy.js';
export { amountFeature, durationFeature, rateFeature, shareFeature } from './features.js';
export { OPTIONS } from './options.js';
export { OptionScorer, ScorerUnavailableError } from './scorer.js';
export { ACTOR_WEIGHTS, POLICY_WEIGHTS } from './weights.js';
