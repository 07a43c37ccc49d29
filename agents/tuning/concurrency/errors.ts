import { GleanerError } from '../../../config/index.js';

/** The tuner's settings do not go together. */
export class ConcurrencySettingsError extends GleanerError {
  readonly code = 'GLN_CONCURRENCY_SETTINGS';
  constructor(detail: string) {
    super(detail, {
      hint: 'agents/tuning/concurrency/settings.ts says what each setting means and its range',
    });
  }
}

/** What a search has learned, kept incompletely or changed since. */
export class TableDamagedError extends GleanerError {
  readonly code = 'GLN_CONCURRENCY_DAMAGED';
  constructor(where: string, detail: string, cause?: unknown) {
    super(`${where} is damaged: ${detail}`, {
      hint: 'delete it: the tuner then learns anew',
      cause,
    });
  }
}

/** It belongs to another function, revision, search or set of limits. */
export class TableForeignError extends GleanerError {
  readonly code = 'GLN_CONCURRENCY_FOREIGN';
  constructor(where: string, detail: string) {
    super(`${where} is not for this: ${detail}`, {
      hint: 'what was learned holds for one function and revision, one search and one set of limits; delete it to learn anew',
    });
  }
}

/** Written by a later version than this one. */
export class TableNewerError extends GleanerError {
  readonly code = 'GLN_CONCURRENCY_NEWER';
  constructor(where: string, found: number, known: number) {
    super(`${where} has version ${found}, this Gleaner reads up to ${known}`, {
      hint: 'update Gleaner, or delete it: the tuner then learns anew',
    });
  }
}
