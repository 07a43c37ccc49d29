export type { Action } from './action.js';
export { ensureActionImage } from './images/action-image.js';
export { actionSource } from './images/actions.js';
export { type ActivationResult, InvokerEmulator } from './invoker-emulator.js';
export {
  type ActivationRecord,
  type Arrival,
  type Invoker,
  playWorkload,
} from './workload-runner.js';
