/** For bench and tests: how the parts are put together. */
export { actionFor, arrivalsOf, payloadFor, runDockerWorkload } from './wiring/docker-workload.js';
export { cgroupWriter, dockerEngine, hostPlatform } from './wiring/host-platform.js';
export { restoreHost } from './wiring/restore.js';
export { simulatedHost } from './wiring/simulated-platform.js';
export { configuredPlan } from './wiring/workload.js';
