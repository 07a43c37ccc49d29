export { loadMeta, type MetaLearner, saveMeta, shippedMeta } from './checkpoint.js';
export {
  EMBEDDING_LENGTH,
  Encoder,
  type EncoderShape,
  type RawEmbedding,
  scaled,
} from './encoder.js';
export { type GruLayer, gruParameters } from './gru.js';

export { cosine, mostSimilar } from './similarity.js';
export {
  type KnownRates,
  META_FEATURES,
  META_SCALE,
  metaFeatures,
  metaReward,
  metaStepOf,
  NO_RATES,
} from './step-features.js';
export {
  type Trajectory,
  TrajectoryBundle,
  TrajectoryRecorder,
} from './trajectory.js';
