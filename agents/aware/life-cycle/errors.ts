import { errorClass } from '../../../config/index.js';

/** The life cycle's settings do not go together. */
export class LifeCycleSettingsError extends errorClass('GLN_LIFECYCLE_SETTINGS') {}

/** Where a function stood in its life cycle, kept incompletely or changed since. */
export class LifeCycleDamagedError extends errorClass('GLN_LIFECYCLE_DAMAGED') {}

/** It belongs to another function, or was judged by other settings. */
export class LifeCycleForeignError extends errorClass('GLN_LIFECYCLE_FOREIGN') {}

/** Written by a later version than this one. */
export class LifeCycleNewerError extends errorClass('GLN_LIFECYCLE_NEWER') {}
