export { FirmLifeCycleLearner } from './firm-learner.js';

export * from './guard.js';
export type { ActingWeights, LifeCycleChoice, LifeCycleLearner } from './learner.js';
export * from './life-cycle.js';
export * from './life-cycle-run.js';
export { type OfflineTrainer, ThreadOfflineTrainer } from './offline-trainer.js';
export { PpoLifeCycleLearner } from './ppo-learner.js';
export * from './record.js';
export * from './settings.js';

export { shareOf, windowFigures } from './window.js';
