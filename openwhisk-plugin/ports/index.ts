export * from './container-engine.js';
export * from './limit-writer.js';
export * from './limits.js';
export * from './platform.js';
export * from './tap.js';
export * from './usage-monitor.js';
