export * from './cgroup-errors.js';
export { readMounts } from './cgroup-mounts.js';
export { availableControllers, resolveCgroups } from './cgroup-paths.js';
export { type Drift, type DriftHandle, findDrift, QUOTA_ROUNDING } from './drift.js';
export { CgroupLimitHandle } from './limit-handle.js';
export { CgroupLimitWriter, type CgroupLimitWriterOptions } from './limit-writer.js';
export {
  type ContainerListing,
  type RestoredContainer,
  type RestoreReport,
  restoreAll,
  restoreUserLimits,
} from './restore.js';
export { formulaOf, formulaOfRuntime, isRuntimeWeight, runtimeWeight, type WeightFormula } from './shares.js';
export { SystemdBus, SystemdBusError } from './systemd-bus.js';
export type { ScopeProperties, ScopeProperty } from './systemd-scope.js';
export { CgroupUsageMonitor, type CgroupUsageMonitorOptions } from './usage-monitor.js';
