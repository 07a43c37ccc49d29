export { constantLimit, hillClimbing } from './concurrency/baselines.js';
export { type ConcurrencyReason, ConcurrencyTuners } from './concurrency/concurrency-tuners.js';
export { type UnsafeLimit, unsafeLimitText } from './concurrency/guard.js';
export { gridSize, limitAt, nearestPlace, stepMask } from './concurrency/limits.js';
export {
  greedyAction,
  type QLearningState,
  qLearning,
  stateKey,
} from './concurrency/q-learning.js';
export type { Sample } from './concurrency/sample.js';
export type { LimitSearch } from './concurrency/search.js';
export {
  checkTunerSettings,
  type LimitGrid,
  Q_DEFAULT,
  Q_PUBLISHED,
  type QLearningSettings,
  TUNER_DEFAULT,
  type TunerSettings,
} from './concurrency/settings.js';
export { ownerOfTable, type TableStore, tableStore } from './concurrency/table.js';
export { concurrencyTuner, type TunerState } from './concurrency/tuner.js';
export { SizeAdviser } from './sizing/adviser.js';
