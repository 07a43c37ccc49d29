export { constantLimit, type HillState, hillClimbing } from './baselines.js';
export { type HarmFound, type PlatformConcurrency, TunerDesk } from './desk.js';
export * from './errors.js';
export {
  type BadLimit,
  badText,
  isMore,
  type KeptGuard,
  keptOf,
  type LimitGuardState,
  limitGuardState,
  type Tally,
  watch,
} from './guard.js';
export * from './guarded-tuner.js';
export { gridSize, limitAt, nearestPlace, stepMask } from './limits.js';
export {
  epsilonAt,
  greedyAction,
  type Known,
  type Pending,
  type QLearningState,
  qLearning,
  type Row,
  stateKey,
  throughputReward,
} from './q-learning.js';
export { type Measurement, type Sample, sampleOf } from './sample.js';
export * from './search.js';
export * from './settings.js';
export * from './table.js';
export * from './tuner.js';
