export * from './checkpoint.js';
export * from './learner.js';
export * from './reward.js';
export * from './settings.js';
export * from './teacher.js';
