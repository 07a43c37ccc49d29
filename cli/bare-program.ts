import { Command } from 'commander';
import { LEAST_API } from './doctor/findings.js';
import { packageVersion } from './version.js';

const collect = (value: string, all: string[] = []): string[] => [...all, value];

/** `gleaner` with some of its commands, and the options that all of them have. */
export function programWith(commands: readonly ((program: Command) => void)[]): Command {
  const program = new Command('gleaner')
    .description('A resource manager beside Apache OpenWhisk')
    .version(
      `gleaner ${packageVersion()} (Node ${process.versions.node}, Engine API ${LEAST_API} and newer)`,
      '-V, --version',
    )
    .option(
      '-c, --config <file>',
      'configuration file (else GLEANER_CONFIG, else /etc/gleaner/gleaner.yaml where it exists)',
    )
    .option('--set <key=value>', 'set one key of the configuration, as hook.sampleMs=50; may be repeated', collect)
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

/** The command that arguments ask for: the first word that is neither an option nor its value; undefined: none. */
export function commandAsked(args: readonly string[]): string | undefined {
  for (let i = 0; i < args.length; i++) {
    const word = args[i]!;
    if (!word.startsWith('-')) return word;
    // Every option of the program itself but --version and --help has a value.
    if (['-c', '--config', '--set', '--nats'].includes(word)) i++;
  }
  return undefined;
}
