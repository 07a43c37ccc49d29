export {
  EngineResponseError,
  EngineStatusError,
  EngineUnavailableError,
  EngineUnsupportedError,
  engineError,
} from './engine-errors.js';
export type {
  ContainerList,
  EngineEvents,
  EngineEventsListener,
  EngineSource,
  EngineTime,
} from './engine-source.js';
export { ReconcilingEngine } from './reconciling-engine.js';
export { ReconnectDelay } from './reconnect-delay.js';
