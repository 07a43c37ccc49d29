export {
  type Checkpoint,
  type CheckpointNetwork,
  type Expected,
  expectCheckpoint,
  type Json,
} from './checkpoint/checkpoint.js';
export { loadCheckpoint, saveCheckpoint } from './checkpoint/folder.js';
export {
  CHECKPOINT_VERSION,
  decodeCheckpoint,
  encodeCheckpoint,
  type LayersFormat,
  readModel,
} from './checkpoint/layers-format.js';
export { PolicyStore, packCheckpoint, unpackCheckpoint } from './checkpoint/store.js';
export * from './engine.js';
export * from './engines.js';
export * from './errors.js';
export { adamStep, clipScale, sumOfSquares } from './js/adam.js';
export { JsEngine } from './js/engine.js';
export { JsNetwork } from './js/network.js';
export * from './option-scoring.js';
export * from './shape.js';
export { SimdEngine } from './simd/engine.js';
export * from './speed.js';
export { TensorFlowEngine } from './tensorflow/engine.js';
export { type LoadedTensorFlow, type Packages, projectPackages, type TensorFlow } from './tensorflow/load.js';
