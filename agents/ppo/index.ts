export * from './agent.js';
export * from './categorical.js';
export * from './gae.js';
export * from './health.js';
export * from './learner.js';
export * from './policy.js';
export * from './rollout.js';
export * from './settings.js';
