import { GleanerError } from '../../../config/index.js';

/** The life cycle's settings do not go together. */
export class LifeCycleSettingsError extends GleanerError {
  readonly code = 'GLN_LIFECYCLE_SETTINGS';
  constructor(detail: string) {
    super(detail, {
      hint: 'agents/aware/life-cycle/settings.ts says what each setting means and its range',
    });
  }
}

/** Where a function stood in its life cycle, kept incompletely or changed since. */
export class LifeCycleDamagedError extends GleanerError {
  readonly code = 'GLN_LIFECYCLE_DAMAGED';
  constructor(where: string, detail: string, cause?: unknown) {
    super(`${where} is damaged: ${detail}`, {
      hint: 'delete it: the function begins its life cycle anew',
      cause,
    });
  }
}

/** It belongs to another function, or was judged by other settings. */
export class LifeCycleForeignError extends GleanerError {
  readonly code = 'GLN_LIFECYCLE_FOREIGN';
  constructor(where: string, detail: string) {
    super(`${where} is not for this: ${detail}`, {
      hint: 'returns hold for one function, fallback and reward; delete it to begin anew',
    });
  }
}

/** Written by a later version than this one. */
export class LifeCycleNewerError extends GleanerError {
  readonly code = 'GLN_LIFECYCLE_NEWER';
  constructor(where: string, found: number, known: number) {
    super(`${where} has version ${found}, this Gleaner reads up to ${known}`, {
      hint: 'update Gleaner, or delete it: the function begins its life cycle anew',
    });
  }
}
