export { Agent, type Surroundings } from './agent.js';
export * from './agent-host.js';
export * from './ddpg/index.js';
export * from './environment.js';
export { FEATURES, localFeatures, sloPreservation } from './features.js';
export * from './managers/index.js';
export * from './nn/index.js';
export * from './ppo/index.js';
export * from './resource-manager.js';
