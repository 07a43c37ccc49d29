export { type Checkpoint, type Expected, expectCheckpoint } from './checkpoint/checkpoint.js';
export { loadCheckpoint, readShipped, saveCheckpoint, writeDurably } from './checkpoint/folder.js';
export { PolicyStore } from './checkpoint/store.js';
export type {
  ActorCritic,
  Engine,
  PpoBatch,
  PpoStepResult,
} from './engine.js';
export { defaultEngine } from './engines.js';
export {
  CheckpointDamagedError,
  CheckpointForeignError,
  CheckpointMissingError,
  CheckpointNewerError,
  ShapeError,
} from './errors.js';
export { adamStep, sumOfSquares } from './js/adam.js';
export { JsEngine } from './js/engine.js';
export { JsNetwork } from './js/network.js';
export { adamDefaults, clipScale, type Moments, type Network } from './network.js';
export { OptionActorCritic, scoreShape } from './option-scoring.js';
export {
  inputsOf,
  layersOf,
  type NetworkShape,
  orthogonal,
  outputsOf,
  parameterCount,
} from './shape.js';
export { SimdEngine } from './simd/engine.js';
export { type EngineSpeed, engineSpeeds, speedActor, timeEngine, timePerCall } from './speed.js';
export { TensorFlowEngine } from './tensorflow/engine.js';
export { projectPackages } from './tensorflow/load.js';
