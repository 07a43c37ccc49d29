export * from './cgroup/index.js';
export * from './controller/index.js';
export * from './decision/index.js';
export * from './engine/index.js';
export * from './hook/index.js';
export * from './policies/index.js';
export * from './ports/index.js';
export * from './tap/index.js';
