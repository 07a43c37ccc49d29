export { HandOver, shardObject } from './hand-over.js';
export {
  assignShards,
  MOVES_A_TURN,
  movesOf,
  SHARDS,
  shardOf,
} from './plan.js';
export { Shards } from './shards.js';
