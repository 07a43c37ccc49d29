/** What `main.ts` reads of the command line before it loads anything. */

/**
 * Commands that ask a running Gleaner, by the file in `commands/` that has them. A person waits for
 * their answer, so the build writes them and all that they import into one file, `query.js`.
 */
export const QUERIES: Readonly<Record<string, string>> = {
  status: 'status',
  functions: 'functions',
  explain: 'explain',
  meanfield: 'meanfield',
  events: 'events',
  mode: 'mode',
  pause: 'changes',
  resume: 'changes',
  retrain: 'changes',
};

/** The program's own options with a value (`program.ts`, which is not loaded yet). */
export const VALUE_OPTIONS = ['-c', '--config', '--set', '--nats'];

/** The command in the arguments: the first word that is not an option or its value. */
export function commandAsked(args: readonly string[]): string | undefined {
  for (let i = 0; i < args.length; i++) {
    const word = args[i]!;
    if (!word.startsWith('-')) return word;
    if (VALUE_OPTIONS.includes(word)) i++;
  }
  return undefined;
}

export const asksVersion = (args: readonly string[]): boolean =>
  args.length === 1 && (args[0] === '-V' || args[0] === '--version');
