export { AwareAgent } from './agent.js';
export { FunctionEmbedding } from './function-embedding.js';
export {
  DEFAULT_OVERRIDES,
  LIFE_CYCLE_INITIAL,
  type LifeCycleOverrides,
  type LifeCyclePhase,
  type LifeCycleTransition,
  PHASES,
} from './life-cycle/life-cycle.js';
export {
  beginLifeCycleRun,
  LIFE_CYCLE_RUN_INITIAL,
  type LifeCycleRunState,
  phaseOf,
} from './life-cycle/life-cycle-run.js';
export { type OfflineTrainer, ThreadOfflineTrainer } from './life-cycle/offline-trainer.js';
export { PpoLifeCycleLearner } from './life-cycle/ppo-learner.js';
export { type LifeCycleSettings, lifeCycleSettings } from './life-cycle/settings.js';
export { shareOf, windowFigures } from './life-cycle/window.js';
export { type AwareChoice, type AwareParts, createAware } from './make.js';
export { loadMeta, type MetaLearner, saveMeta, shippedMeta } from './meta-learner/checkpoint.js';
export {
  EMBEDDING_LENGTH,
  Encoder,
  type EncoderShape,
  type RawEmbedding,
  scaled,
} from './meta-learner/encoder.js';
export { type GruLayer, gruParameters } from './meta-learner/gru.js';
export { cosine } from './meta-learner/similarity.js';
export {
  META_FEATURES,
  META_SCALE,
  metaFeatures,
  metaReward,
  NO_RATES,
} from './meta-learner/step-features.js';
export {
  type Trajectory,
  TrajectoryBundle,
  TrajectoryRecorder,
} from './meta-learner/trajectory.js';
export { aimedStep } from './slo-aim.js';
export { nearestAction } from './steps.js';
