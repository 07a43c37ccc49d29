export { FEATURES, preservationOf } from './features.js';
export { NewerObjects } from './newer-objects.js';
export type { Decided, Decision, PhaseChange, ResourceManager, View } from './resource-manager.js';
export { NO_TARGET } from './validation.js';
