import { ERRORS, type ErrorCode, filledIn, placeholdersOf } from './error-table.js';

/** An error that Gleaner raises on purpose: a stable code, a message and what to do next. */
export abstract class GleanerError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;

  protected constructor(code: ErrorCode, message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.hint = hint;
  }
}

/** One value for each name between braces, in order of first appearance. */
type ValuesOf<
  Template extends string,
  Seen = never,
> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name extends Seen
    ? ValuesOf<Rest, Seen>
    : [string | number, ...ValuesOf<Rest, Seen | Name>]
  : [];

type ErrorClass<Code extends ErrorCode> = new (
  ...values: [
    ...ValuesOf<`${(typeof ERRORS)[Code]['message']} ${(typeof ERRORS)[Code]['hint']}`>,
    cause?: unknown,
  ]
) => GleanerError;

/**
 * The base class of errors with one code of the table. The constructor takes the values of the
 * placeholders of message and hint in order of first appearance, then the cause.
 */
export function errorClass<Code extends ErrorCode>(code: Code): ErrorClass<Code> {
  const names = placeholdersOf(code);
  class TableError extends GleanerError {
    constructor(...given: readonly (string | number)[]) {
      const values = Object.fromEntries(names.map((name, i) => [name, given[i]!]));
      const { message, hint } = ERRORS[code];
      super(code, filledIn(message, values), filledIn(hint, values), given[names.length]);
    }
  }
  return TableError as unknown as ErrorClass<Code>;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
