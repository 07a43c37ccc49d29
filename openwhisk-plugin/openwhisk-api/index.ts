export { type ActionOutcome, ActionWriter, type FindHolds } from './action-writer.js';
export { type Annotations, readAnnotations } from './annotations.js';
export { holdsFrom } from './holds.js';
export { ActionsLockedError, Journal } from './journal.js';
export type { JournalEntry } from './journal-entry.js';
export {
  keptSinceKill,
  killedSizes,
  type OpenChange,
  openChanges,
} from './open-changes.js';
export type { LimitRequest } from './plan.js';
export { HORIZON_SECONDS } from './priced-sizes.js';
export type { ListedAction } from './ranges.js';
export { OpenWhiskRest, readKeys } from './rest.js';
export { type LimitValues, type WritableLimit, writableLimits } from './rest-schemas.js';
export {
  type ActionEvent,
  type JudgedSize,
  RightSizing,
  type SizeEvidence,
} from './right-sizing.js';
export { RightSizingLoop } from './right-sizing-loop.js';
export {
  isDue,
  nextWave,
  recommendSizes,
  type SizeRecommendation,
  type SizingInputs,
  type SizingRules,
} from './rollout.js';
export { keepAliveTime } from './warm-pool.js';
