export { BucketRow } from './bucket-row.js';
export {
  type Cancel,
  type Clock,
  steadyClock,
  systemClock,
  systemTimers,
  type Timers,
  timeOfDay,
} from './clock.js';
export { Doubles } from './doubles.js';
export { errorsReference } from './error-table.js';
export { errorClass, GleanerError, messageOf } from './errors.js';
export * from './exit.js';
export * from './histogram.js';
export { HOST_NAME, valueAt } from './keys.js';
export { type LoadedConfig, loadConfig, type SalvagedConfig, salvageConfig } from './load.js';
export {
  isManagerModule,
  type ManagerName,
  managers,
  managerTable,
  PACKAGE_PREFIX,
} from './managers.js';
export { isExcluded, overrideFor } from './patterns.js';
export { type PolicyKind, type PolicyName, policyNames, policyTable } from './policies.js';
export * from './problem.js';
export * from './random.js';
export { configExample, configReference, printConfig } from './reference.js';
export { reloadConfig } from './reload.js';
export { type FunctionOverride, type Mode, modes, overrideSchema } from './schema/functions.js';
export { CONTAINER_PREFIX } from './schema/hook.js';
export * from './schema.js';
export { suggest } from './suggest.js';
export * from './units.js';
export { unusedTargets } from './unused-targets.js';
export { maskUrlCredentials } from './url-credentials.js';
export * from './version.js';
export { configWarnings } from './warnings.js';
export { readYaml } from './yaml-text.js';
