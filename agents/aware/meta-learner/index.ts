export { loadMeta, type MetaLearner, saveMeta, shippedMeta } from './checkpoint.js';
export { EMBEDDING_LENGTH, Encoder, type EncoderShape } from './encoder.js';
export { GruLayer, type GruShape, gruParameters, initialGru } from './gru.js';
export {
  type KnownRates,
  META_FEATURES,
  metaFeatures,
  metaReward,
  rateOf,
  ratesAfter,
} from './live-features.js';
export { contrastive, cosine, mostSimilar } from './similarity.js';
export {
  type Trajectory,
  TrajectoryBundle,
  TrajectoryRecorder,
  trajectorySteps,
} from './trajectory.js';
