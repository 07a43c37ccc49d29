export { type Annotations, actionSettings, concurrencyOf, readAnnotations } from './annotations.js';
export { type ActionOutcome, ActionsController, type ControllerSettings } from './controller.js';
export { ActionsLockedError, Journal, JournalError } from './journal.js';
export type { ChangeReason, JournalEntry } from './journal-entry.js';
export { summarised } from './journal-summary.js';
export { keptSinceKill, killedSizes, type OpenChange, openChanges, userVersions } from './open-changes.js';
export { type Allowance, modeOf, type Planned, type Wish } from './plan.js';
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
export { coldRate, keepTime, type WarmUse } from './warm-room.js';
