export { appendToAudit, type RestoreAuthor, restoreLines } from './audit-restore.js';
export { END_COUNTERS } from './counters.js';
export type { ExplainedGrant, Explanation } from './explain.js';
export type { FunctionFigures, HookFigures } from './figures.js';
export { type ObservedFunction, type ObservedRevision, observationOf } from './observation.js';
export { runHook } from './run-hook.js';
export { Step } from './step.js';
export { LIMIT_DIRECTIONS, LIMIT_RESOURCES, LIMIT_RESULTS } from './tallies.js';
