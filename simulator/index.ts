export * from './cluster/index.js';
export * from './compare/index.js';
export * from './concurrency/index.js';
export * from './docker-platform/index.js';
export * from './freyr-2021/index.js';
export * from './host/index.js';
export * from './right-sizing/index.js';
export * from './workload/index.js';
