export type { Action } from './action.js';
export type { LogMode } from './action-container.js';
export type { Outcome, Status } from './activation-response.js';
export {
  type ClientOptions,
  type ClientStyle,
  ContainerClient,
  type PostOptions,
  requestParts,
} from './container-client.js';
export type { PrewarmSpec } from './container-pool.js';
export { containerName, cpuLimit, cpuShares, namePrefix } from './container-resources.js';
export * from './docker-cli.js';
export * from './errors.js';
export { ensureActionImage, IMAGE_REPOSITORY, type ImageOptions, removeActionImage } from './images/action-image.js';
export { type ActionBody, actionBodies, actionSource } from './images/actions.js';
export { type ActivationResult, InvokerEmulator, type InvokerOptions } from './invoker-double.js';
export { Runc, type RuncOptions } from './runc.js';
export * from './workload-runner.js';
