import type { Command } from 'commander';
import { versionText } from '../config/index.js';
import { GleanerCommand } from './gleaner-command.js';

const collect = (value: string, all: string[] = []): string[] => [...all, value];

/** Where the help has what belongs to no other group. */
export const OTHER_COMMANDS = 'Other:';

/** `gleaner` with some of its commands, and the options that all of them have. */
export function programWith(commands: readonly ((program: Command) => void)[]): Command {
  const program = new GleanerCommand('gleaner')
    .description('Resource manager for Apache OpenWhisk')
    .version(versionText(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help for a command')
    .commandsGroup(OTHER_COMMANDS)
    .helpCommand('help [command]', 'print help for a command')
    .option(
      '-c, --config <file>',
      'configuration file (default: $GLEANER_CONFIG, then /etc/gleaner/gleaner.yaml if it exists)',
    )
    .option(
      '--set <key=value>',
      'set one key of the configuration, such as hook.sampleMs=50 (repeatable)',
      collect,
    )
    .option('--nats <urls>', 'NATS servers, comma-separated')
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride();
  for (const add of commands) add(program);
  inheritExit(program);
  return program;
}

/** Errors of sub-commands end as those of the program do: with exit code 2. */
function inheritExit(command: Command): void {
  for (const child of command.commands) {
    child.exitOverride();
    inheritExit(child);
  }
}

/**
 * The command that arguments ask for: the first word that is neither an option nor its value;
 * undefined: none.
 */
export function commandAsked(args: readonly string[]): string | undefined {
  for (let i = 0; i < args.length; i++) {
    const word = args[i]!;
    if (!word.startsWith('-')) return word;
    // Every option of the program itself but --version and --help has a value.
    if (['-c', '--config', '--set', '--nats'].includes(word)) i++;
  }
  return undefined;
}
