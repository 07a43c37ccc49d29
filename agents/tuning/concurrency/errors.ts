import { errorClass } from '../../../config/index.js';

/** The tuner's settings do not go together. */
export class ConcurrencySettingsError extends errorClass('GLN_CONCURRENCY_SETTINGS') {}

/** What a search has learned, kept incompletely or changed since. */
export class TableDamagedError extends errorClass('GLN_CONCURRENCY_DAMAGED') {}

/** It belongs to another function, revision, search or set of limits. */
export class TableForeignError extends errorClass('GLN_CONCURRENCY_FOREIGN') {}

/** Written by a later version than this one. */
export class TableNewerError extends errorClass('GLN_CONCURRENCY_NEWER') {}
