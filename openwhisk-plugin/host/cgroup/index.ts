export { LimitsNotRestoredError } from './cgroup-errors.js';
export { readMounts } from './cgroup-mounts.js';
export { availableControllers } from './cgroup-paths.js';
export { differsFromUser, findDrift, QUOTA_ROUNDING } from './drift.js';
export { CgroupLimitWriter } from './limit-writer.js';
export {
  type RestoreReport,
  restoreAll,
  unrestored,
} from './restore.js';
export { formulaOfRuntime } from './shares.js';
export { SystemdBus } from './systemd-bus.js';
export { CgroupUsageMonitor } from './usage-monitor.js';
