import type { Command } from 'commander';
import { versionText } from '../config/index.js';
import { collect, GleanerCommand } from './gleaner-command.js';

type Add = (program: Command) => void;

/** Group of the help for the remaining commands. */
const OTHER = 'Other:';

/** A module, and the commands that its `addCommands` adds. */
interface CommandModule {
  readonly names: readonly string[];
  load(): Promise<{ readonly addCommands: Add }>;
}

const module = (load: CommandModule['load'], ...names: string[]): CommandModule => ({
  names,
  load,
});

const groups: Readonly<Record<string, readonly CommandModule[]>> = {
  'Run Gleaner:': [
    module(() => import('./commands/up.js'), 'up'),
    module(() => import('./commands/parts.js'), 'hook', 'agents', 'aggregator', 'workload'),
    module(() => import('./commands/dashboard.js'), 'dashboard'),
  ],
  'Inspect:': [
    module(() => import('./commands/status.js'), 'status'),
    module(() => import('./commands/functions.js'), 'functions'),
    module(() => import('./commands/top.js'), 'top'),
    module(() => import('./commands/explain.js'), 'explain'),
    module(() => import('./commands/meanfield.js'), 'meanfield'),
    module(() => import('./commands/events.js'), 'events'),
    module(() => import('./commands/audit.js'), 'audit'),
  ],
  'Control:': [
    module(() => import('./commands/mode.js'), 'mode'),
    module(() => import('./commands/changes.js'), 'pause', 'resume', 'retrain'),
    module(() => import('./commands/restore.js'), 'restore'),
    module(() => import('./commands/actions.js'), 'actions'),
  ],
  'Configure, install and check:': [
    module(() => import('./commands/doctor.js'), 'doctor'),
    module(() => import('./commands/config.js'), 'config'),
    module(() => import('./commands/nats-config.js'), 'nats-config'),
    module(() => import('./commands/install.js'), 'install', 'check', 'remove'),
    module(() => import('./commands/support-bundle.js'), 'support-bundle'),
  ],
  'Simulate, compare and train:': [
    module(() => import('./commands/simulate.js'), 'simulate'),
    module(() => import('./commands/compare.js'), 'compare'),
    module(() => import('./commands/reproduce.js'), 'reproduce'),
    module(() => import('./commands/train.js'), 'train'),
    module(() => import('./commands/train-meta.js'), 'train-meta'),
    module(() => import('./commands/engines.js'), 'engines'),
  ],
  [OTHER]: [
    module(() => import('./commands/completion.js'), 'completion'),
    module(() => import('./commands/docs.js'), 'docs'),
    module(() => import('./commands/version.js'), 'version'),
  ],
};

export const commandModules: readonly CommandModule[] = Object.values(groups).flat();

const groupOf = new Map(
  Object.entries(groups).flatMap(([group, modules]) =>
    modules.flatMap(({ names }) => names.map((name) => [name, group])),
  ),
);

/** These list all other commands. */
const OF_ALL = ['completion', 'docs'];

/**
 * `gleaner` with the module of one command, otherwise with all. Commands that query a running
 * Gleaner need not load the simulator and the learners, and `restore --local`, which systemd runs
 * after a hook has died, starts at once.
 */
export async function gleanerProgram(asked?: string): Promise<Command> {
  const one = commandModules.filter(({ names }) => asked !== undefined && names.includes(asked));
  const chosen = one.length === 0 || OF_ALL.includes(asked!) ? commandModules : one;
  const modules = await Promise.all(chosen.map(({ load }) => load()));
  const program = programWith(modules.map(({ addCommands }) => addCommands));
  for (const command of program.commands) command.helpGroup(groupOf.get(command.name()) ?? OTHER);
  return program;
}

/** The program with the options that all commands have. */
function programWith(commands: readonly Add[]): Command {
  const program = new GleanerCommand('gleaner')
    .description('Resource manager for Apache OpenWhisk')
    .version(versionText(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help for a command')
    .commandsGroup(OTHER)
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

/** Errors of subcommands throw like those of the program, and so end with exit code 2. */
function inheritExit(command: Command): void {
  for (const child of command.commands) {
    child.exitOverride();
    inheritExit(child);
  }
}
