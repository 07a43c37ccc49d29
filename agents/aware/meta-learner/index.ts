export { loadMeta, type MetaLearner, saveMeta, shippedMeta } from './checkpoint.js';
export { EMBEDDING_LENGTH, Encoder, type EncoderShape } from './encoder.js';
export { GruLayer, type GruShape, gruParameters, initialGru } from './gru.js';
export { contrastive, cosine, mostSimilar } from './similarity.js';
export {
  type KnownRates,
  META_FEATURES,
  META_SCALE,
  type MetaStep,
  metaFeatures,
  metaReward,
  metaStepOf,
  NO_RATES,
} from './step-features.js';
export {
  type Trajectory,
  TrajectoryBundle,
  TrajectoryRecorder,
  trajectorySteps,
} from './trajectory.js';
