export type { ExplainedGrant, Explanation } from './explain.js';
export type { FunctionFigures, HookFigures } from './figures.js';
export type { InspectRequest, RestoreResult } from './hook.js';
export { EngineLock, HookLock, HookLockError, HookLockedError } from './lock.js';
export { type Logger, silentLogger } from './logger.js';
export { type HookOptions, type RunningHook, runHook } from './run-hook.js';
export { decisionSettings, hostCapacity } from './settings.js';
export * from './tallies.js';
