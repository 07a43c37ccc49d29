export { HandOver, type HandOverOptions, shardObject } from './hand-over.js';
export {
  assignShards,
  MOVES_A_TURN,
  type Moves,
  movesOf,
  SHARDS,
  type SharingView,
  shardOf,
} from './plan.js';
export { Shards, type ShardsOptions } from './shards.js';
