export { AwareAgent } from './agent.js';
export { FunctionEmbedding } from './function-embedding.js';
export {
  beginLifeCycleRun,
  DEFAULT_OVERRIDES,
  LIFE_CYCLE_INITIAL,
  LIFE_CYCLE_RUN_INITIAL,
  type LifeCycleOverrides,
  type LifeCyclePhase,
  type LifeCycleRunState,
  type LifeCycleSettings,
  type LifeCycleTransition,
  lifeCycleSettings,
  PHASES,
  PpoLifeCycleLearner,
  phaseOf,
  shareOf,
  ThreadOfflineTrainer,
  windowFigures,
} from './life-cycle/index.js';
export { type AwareChoice, type AwareParts, createAware } from './make.js';
export {
  cosine,
  EMBEDDING_LENGTH,
  Encoder,
  type EncoderShape,
  type GruLayer,
  gruParameters,
  loadMeta,
  META_FEATURES,
  META_SCALE,
  type MetaLearner,
  metaFeatures,
  metaReward,
  NO_RATES,
  type RawEmbedding,
  saveMeta,
  scaled,
  shippedMeta,
  type Trajectory,
  TrajectoryRecorder,
} from './meta-learner/index.js';
export { aimedStep } from './slo-aim.js';
export { nearestAction } from './steps.js';
