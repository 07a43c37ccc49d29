/**
 * The base of every error Gleaner raises on purpose.
 *
 * `code` is stable and documented (`GLN_…`); `hint` tells an operator what to do next. Subclasses
 * are small, named after what went wrong, and live beside the code that throws them.
 */
export abstract class GleanerError extends Error {
  abstract readonly code: `GLN_${string}`;
  readonly hint: string;

  constructor(message: string, options: { hint: string; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.hint = options.hint;
  }
}

/** The message of anything thrown, for logs. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
