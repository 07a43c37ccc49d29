export type {
  Bridge,
  ContainerEngine,
  ContainerEngineListener,
  ContainerInfo,
  HostFacts,
  Listing,
  SkippedEvent,
} from './container-engine.js';
export { emptyLimits, type LimitHandle, type LimitWriter } from './limit-writer.js';
export type { Platform } from './platform.js';
export {
  addressOf,
  dottedOf,
  type Identity,
  type LossReason,
  type RequestKind,
  type Tap,
  type TapAnomaly,
  type TapListener,
  type TapRequest,
} from './tap.js';
export type { UsageMonitor, UsageProbe } from './usage-monitor.js';
