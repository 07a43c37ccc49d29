export type { DemonstratedEpisode, Demonstration } from './demonstration.js';
export * from './errors.js';
export { FirmLifeCycleLearner, type FirmLifeCycleLearnerOptions } from './firm-learner.js';
export {
  type FirmTrainingJob,
  type FirmTrainingResult,
  trainFirmOffline,
} from './firm-training.js';
export * from './guard.js';
export type { ActingWeights, LifeCycleLearner } from './learner.js';
export * from './life-cycle.js';
export * from './life-cycle-run.js';
export {
  learnOffline,
  type OfflineJob,
  type OfflineResult,
  type OfflineSettings,
  offlineSettings,
} from './offline.js';
export {
  type OfflineTrainer,
  type OfflineTrainingJob,
  type OfflineTrainingResult,
  ThreadOfflineTrainer,
} from './offline-trainer.js';
export { PpoLifeCycleLearner, type PpoLifeCycleLearnerOptions } from './ppo-learner.js';
export * from './record.js';
export * from './settings.js';
export { type SurrogateSettings, surrogateSettings } from './surrogate.js';
export { bandAround, pooled, shareOf, type WindowFigures, windowFigures } from './window.js';
