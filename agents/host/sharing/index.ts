export { HandOver } from './hand-over.js';
export { SHARDS } from './plan.js';
export { Shards } from './shards.js';
