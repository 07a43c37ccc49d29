export { appendToAudit, type RestoreAuthor, restoreLines } from './audit-restore.js';
export { END_COUNTERS } from './counters.js';
export type { HookFigures } from './hook.js';
export { recordedSettings } from './hook-record.js';
export type { FunctionFigures } from './inspect.js';
export { killFile, killSwitchHolder, releaseNote } from './kill-switch.js';
export { readLimitedContainers } from './limited-containers.js';
export { runHook } from './run-hook.js';
export { LIMIT_DIRECTIONS, LIMIT_RESOURCES, LIMIT_RESULTS } from './tallies.js';
