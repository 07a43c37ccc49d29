export { possibleActions, ScalingAgent, scalingStep } from './agent.js';
export { publishedFeatures, SCALING_FEATURES, scalingInput, scalingWidth } from './features.js';
export { LocalMeanField } from './mean-field.js';
export {
  congestionCharge,
  gradedPreservation,
  idleOf,
  learningReward,
  rawReward,
} from './reward.js';
export * from './settings.js';
export { type ClusterTotals, preservation, type ScalingState } from './state.js';
export { ScalingTeam, type ScalingTeamOptions, type TeamMember } from './team.js';
