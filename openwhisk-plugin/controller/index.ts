export { type Annotations, readAnnotations } from './annotations.js';
export { type ActionOutcome, ActionsController, type ControllerSettings, type ListedAction } from './controller.js';
export { ActionsLockedError, Journal, type JournalEntry, JournalError } from './journal.js';
export { type OpenChange, openChanges } from './open-changes.js';
export { type Allowance, modeOf, type Planned, type Wish } from './plan.js';
export { OpenWhiskRest, type RestSettings, readKeys } from './rest.js';
export * from './rest-errors.js';
export { type LimitValues, type WritableLimit, writableLimits } from './rest-schemas.js';
