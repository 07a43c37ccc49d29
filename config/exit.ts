import { ERRORS, type ErrorRow } from './error-table.js';
import { errorClass, GleanerError, messageOf } from './errors.js';

/** 1: the answer is "no" or something failed. 2: wrong usage or configuration. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What an error on stderr begins with. */
export const ERROR_PREFIX = 'gleaner: ';

/** Tells a person about an error on stderr and says with which code to leave. */
export function reportError(
  error: unknown,
  write: (text: string) => void = (text) => void process.stderr.write(text),
): ExitCode {
  if (error instanceof GleanerError) {
    write(`${ERROR_PREFIX}${error.message} [${error.code}]\n  ${error.hint}\n`);
    const row: ErrorRow = ERRORS[error.code];
    return row.exit ?? EXIT.failed;
  }
  write(`${ERROR_PREFIX}${messageOf(error)}\n  ${hintOf(error)}\n`);
  return EXIT.failed;
}

/** What to do about an error that is not one of Gleaner's own. */
function hintOf(error: unknown): string {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  return (
    SYSTEM_HINTS[code ?? ''] ??
    'this should not happen: `gleaner support-bundle` collects what a report needs'
  );
}

const SYSTEM_HINTS: Readonly<Record<string, string>> = {
  ENOENT: 'check the path',
  ENOTDIR: 'check the path',
  EISDIR: 'give the path of a file',
  EACCES: 'run as root, or give this user access',
  EPERM: 'run as root, or give this user access',
  EROFS: 'choose a path that can be written',
  ENOSPC: 'free some space',
  EADDRINUSE: 'another process listens there: choose another port',
  ECONNREFUSED: 'check the address, and that its server runs',
};

/** For problems that are no error of the command. */
export function reportProblem(what: string, todo: string): void {
  process.stderr.write(`${ERROR_PREFIX}${what}\n  ${todo}\n`);
}

/** The command line asks for something that is not there. */
export class UsageError extends errorClass('GLN_USAGE') {
  constructor(problem: string, { hint, cause }: { hint: string; cause?: unknown }) {
    super(problem, hint, cause);
  }
}
