export * from './actuator.js';
export * from './decision-store.js';
export * from './ensure.js';
export { type ExternalManager, loadExternalManager } from './external-manager.js';
export { fixedManager } from './fixed.js';
export { GREEDY_DEFAULT, GREEDY_FREYR, type GreedyConstants, type GreedyState, greedyManager } from './greedy.js';
export * from './host-sights.js';
export * from './hpa.js';
export * from './hpa-vpa.js';
export * from './kpa.js';
export { ManagerModuleError, managerFile } from './module-path.js';
export * from './registry.js';
export * from './right-size.js';
export { afterOom, busyMillis, CONTAINERS_MAX, isValidObservation, NO_TARGET, validated } from './sound.js';
export {
  type BucketScheme,
  CPU_BUCKETS,
  EMPTY_HISTOGRAM,
  MEMORY_BUCKETS,
  percentileOf,
  type UsageHistogram,
  withSample,
} from './usage-histogram.js';
export * from './vpa.js';
