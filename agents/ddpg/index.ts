export * from './agent.js';
export * from './checkpoint.js';
export * from './learner.js';
export * from './noise.js';
export * from './replay.js';
export * from './settings.js';
