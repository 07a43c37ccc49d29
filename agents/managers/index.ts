export { fixedManager } from './fixed.js';
export { GREEDY_DEFAULT, GREEDY_FREYR, type GreedyConstants, type GreedyState, greedyManager } from './greedy.js';
export * from './registry.js';
