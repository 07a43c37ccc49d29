export { connectActions } from './actions.js';
export { runDashboardPart } from './dashboard.js';
export { arrivalsOf } from './docker-workload.js';
export { holdsOf } from './holds.js';
export { withJournal } from './journal.js';
export type { Part } from './part.js';
export {
  authorOfRestore,
  HOOK_ENDED,
  otherSettings,
  placeText,
  type RestorePlace,
  type RestoreSettings,
  restoreHost,
  settingsForRestore,
} from './restore.js';
export { FOLLOW_STOP, followSizes, rightSizingOf, sizingRules } from './right-sizing.js';
