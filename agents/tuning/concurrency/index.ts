export { constantLimit, type HillState, hillClimbing } from './baselines.js';
export {
  ConcurrencyTuners,
  type PlatformConcurrency,
  type UnsafeLimitListener,
} from './concurrency-tuners.js';
export * from './errors.js';
export {
  checkLimit,
  isMore,
  type LimitGuardState,
  limitGuardState,
  type SavedGuard,
  savedGuardOf,
  type Tally,
  type UnsafeLimit,
  unsafeLimitText,
} from './guard.js';
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
export * from './safe-tuner.js';
export { type Measurement, type Sample, sampleOf } from './sample.js';
export * from './search.js';
export * from './settings.js';
export * from './table.js';
export * from './tuner.js';
