export * from './arm-statistics.js';
export * from './claim.js';
export * from './container-state.js';
export * from './decider.js';
export * from './function-state.js';
export * from './run.js';
export * from './settings.js';
export * from './statistics.js';
