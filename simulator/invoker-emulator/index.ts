export type { Action, ResolvedAction } from './action.js';
export type { Container, EndpointResult } from './action-container.js';
export { ContainerClient, type PostOptions } from './container-client.js';
export type { ContainerFactory } from './container-factory.js';
export { ACTION_PROXY, ensureActionImage } from './images/action-image.js';
export { actionSource } from './images/actions.js';
export { type ActivationResult, InvokerEmulator } from './invoker-emulator.js';
export {
  type ActivationRecord,
  type Arrival,
  type Invoker,
  playWorkload,
} from './workload-runner.js';
