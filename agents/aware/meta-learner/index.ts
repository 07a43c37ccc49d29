export { shippedMeta } from './checkpoint.js';
export { Encoder } from './encoder.js';

export { mostSimilar } from './similarity.js';
export {
  type KnownRates,
  META_FEATURES,
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
