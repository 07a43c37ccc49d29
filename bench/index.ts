export { predict as predictFidelity } from './fidelity/predict.js';
export { cpuOf, profileOf } from './fidelity/profile.js';
export { oomSimulated } from './oom/simulated.js';
export { benchSimulator } from './simulator/simulator.js';
export { ToyCluster } from './toy/cluster.js';
export { ONE, SIX } from './toy/toy.js';
export { doNothing, hpa, runRule, trainToy } from './toy/train.js';
export { benchTrace } from './worth/trace.js';
