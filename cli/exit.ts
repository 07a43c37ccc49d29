import { GleanerError, messageOf } from '../config/index.js';

/** Exit codes of every command: 0 as asked; 1 the answer is "no" or something failed; 2 wrong usage or configuration. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What an error on stderr begins with. */
export const ERROR_PREFIX = 'gleaner: ';

/** Tells a person about an error on stderr and says with which code to leave. */
export function reportError(error: unknown, write: (text: string) => void): ExitCode {
  if (error instanceof GleanerError) {
    write(`${ERROR_PREFIX}${error.message} [${error.code}]\n  ${error.hint}\n`);
    return error.code === 'GLN_CONFIG_INVALID' || error.code === 'GLN_USAGE' ? EXIT.usage : EXIT.failed;
  }
  write(`${ERROR_PREFIX}${messageOf(error)}\n`);
  return EXIT.failed;
}

/** The command line asks for something that is not there. */
export class UsageError extends GleanerError {
  readonly code = 'GLN_USAGE';
}
