export { type Annotations, actionSettings, concurrencyOf, readAnnotations } from './annotations.js';
export { type ActionOutcome, ActionsController, type ControllerSettings } from './controller.js';
export { ActionsLockedError, Journal, JournalError } from './journal.js';
export type { ChangeReason, JournalEntry } from './journal-entry.js';
export { summarized } from './journal-summary.js';
export { keptSinceKill, killedSizes, type OpenChange, openChanges, userVersions } from './open-changes.js';
export { type Allowance, type LimitRequest, modeOf, type Planned } from './plan.js';
export type { ListedAction } from './ranges.js';
export { OpenWhiskRest, type RestSettings, readKeys } from './rest.js';
export * from './rest-errors.js';
export { type LimitValues, type WritableLimit, writableLimits } from './rest-schemas.js';
export {
  type ActionEvent,
  type JudgedSize,
  RightSizing,
  type RightSizingParts,
  type SizeEvidence,
} from './right-sizing.js';
export {
  nextWave,
  recommendSizes,
  type SizeRecommendation,
  type SizeVerdict,
  type SizingInputs,
  type SizingRules,
  savedPerHour,
  type Wave,
} from './rollout.js';
export { coldStartRate, keepAliveTime, type WarmPoolUse } from './warm-room.js';
