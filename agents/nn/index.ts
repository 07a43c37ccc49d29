export * from './engine.js';
export * from './engines.js';
export * from './errors.js';
export { JsEngine } from './js/engine.js';
export * from './shape.js';
export { SimdEngine } from './simd/engine.js';
export { TensorFlowEngine } from './tensorflow/engine.js';
export { type LoadedTensorFlow, type Packages, projectPackages, type TensorFlow } from './tensorflow/load.js';
