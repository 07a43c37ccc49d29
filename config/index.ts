export {
  addComparisons,
  CONTROL_SAMPLES_NEEDED,
  type ComparedHost,
  type Comparison,
  type ComparisonSums,
  comparisonOf,
  comparisonOver,
  comparisonSums,
  intervalText,
  noComparison,
  verdictOf,
} from './arm-comparison.js';
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
export { errorsReference } from './error-table.js';
export { errorClass, GleanerError, messageOf } from './errors.js';
export {
  ERROR_PREFIX,
  EXIT,
  type ExitCode,
  reportError,
  reportProblem,
  UsageError,
} from './exit.js';
export { DurationHistogram, FixedHistogram, StepTimes } from './histogram.js';
export { valueAt } from './keys.js';
export { type LoadedConfig, loadConfig } from './load.js';
export {
  isManagerModule,
  type ManagerName,
  managers,
  managerTable,
  PACKAGE_PREFIX,
} from './managers.js';
export { memoryAfterOom } from './oom.js';
export { isExcluded, overrideFor } from './patterns.js';
export { type PolicyKind, type PolicyName, policyNames, policyTable } from './policies.js';
export { ConfigError, type ConfigProblem, formatProblem } from './problem.js';
export { hashOf, type Random, SeededRandom, standardNormal } from './random.js';
export { configExample, configReference, printConfig } from './reference.js';
export { reloadConfig } from './reload.js';
export { type FunctionOverride, type Mode, modes, overrideSchema } from './schema/functions.js';
export { CONTAINER_PREFIX } from './schema/hook.js';
export {
  type AgentsConfig,
  type Config,
  configSchema,
  defaultConfig,
  type HookConfig,
  type NatsConfig,
  type SimulatorConfig,
} from './schema.js';
export { suggest } from './suggest.js';
export {
  type Bytes,
  bytes,
  coresToMillicores,
  MIB,
  type Micros,
  type Millicores,
  type Millis,
  mebibytes,
  micros,
  millicores,
  millis,
  millisToMicros,
  significant,
} from './units.js';
export { MIN_DOCKER_API, packageVersion, versionText } from './version.js';
export { readYaml } from './yaml-text.js';
