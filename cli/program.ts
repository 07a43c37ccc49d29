import type { Command } from 'commander';
import { versionText } from '../config/index.js';
import { collect, GleanerCommand } from './gleaner-command.js';

type Add = (program: Command) => void;

/** Group of the help for the remaining commands. */
const OTHER = 'Other:';

/** Commands and the module that defines them. */
export interface CommandModule {
  readonly names: readonly string[];
  load(): Promise<Add | readonly Add[]>;
}

const groups: readonly { readonly group: string; readonly modules: readonly CommandModule[] }[] = [
  {
    group: 'Run Gleaner:',
    modules: [
      { names: ['up'], load: async () => (await import('./commands/up.js')).addUp },
      {
        names: ['hook', 'agents', 'aggregator', 'workload'],
        load: async () => (await import('./commands/parts.js')).addParts,
      },
      {
        names: ['dashboard'],
        load: async () => (await import('./commands/dashboard.js')).addDashboard,
      },
    ],
  },
  {
    group: 'Inspect:',
    modules: [
      { names: ['status'], load: async () => (await import('./commands/status.js')).addStatus },
      {
        names: ['functions'],
        load: async () => (await import('./commands/functions.js')).addFunctions,
      },
      { names: ['top'], load: async () => (await import('./commands/top.js')).addTop },
      { names: ['explain'], load: async () => (await import('./commands/explain.js')).addExplain },
      {
        names: ['meanfield'],
        load: async () => (await import('./commands/meanfield.js')).addMeanField,
      },
      { names: ['events'], load: async () => (await import('./commands/events.js')).addEvents },
      { names: ['audit'], load: async () => (await import('./commands/audit.js')).addAudit },
    ],
  },
  {
    group: 'Control:',
    modules: [
      { names: ['mode'], load: async () => (await import('./commands/mode.js')).addMode },
      {
        names: ['pause', 'resume', 'retrain'],
        load: async () => (await import('./commands/changes.js')).addChanges,
      },
      { names: ['restore'], load: async () => (await import('./commands/restore.js')).addRestore },
      { names: ['actions'], load: async () => (await import('./commands/actions.js')).addActions },
    ],
  },
  {
    group: 'Configure, install and check:',
    modules: [
      { names: ['doctor'], load: async () => (await import('./commands/doctor.js')).addDoctor },
      { names: ['config'], load: async () => (await import('./commands/config.js')).addConfig },
      {
        names: ['nats-config'],
        load: async () => (await import('./commands/nats-config.js')).addNatsConfig,
      },
      {
        names: ['install', 'check', 'remove'],
        load: async () => {
          const { addCheck, addInstall, addRemove } = await import('./commands/install.js');
          return [addInstall, addCheck, addRemove];
        },
      },
      {
        names: ['support-bundle'],
        load: async () => (await import('./commands/support-bundle.js')).addSupportBundle,
      },
    ],
  },
  {
    group: 'Simulate, compare and train:',
    modules: [
      {
        names: ['simulate'],
        load: async () => (await import('./commands/simulate.js')).addSimulate,
      },
      { names: ['compare'], load: async () => (await import('./commands/compare.js')).addCompare },
      {
        names: ['reproduce'],
        load: async () => (await import('./commands/reproduce.js')).addReproduce,
      },
      { names: ['train'], load: async () => (await import('./commands/train.js')).addTrain },
      {
        names: ['train-meta'],
        load: async () => (await import('./commands/train-meta.js')).addTrainMeta,
      },
      { names: ['engines'], load: async () => (await import('./commands/engines.js')).addEngines },
    ],
  },
  {
    group: OTHER,
    modules: [
      {
        names: ['completion'],
        load: async () => (await import('./commands/completion.js')).addCompletion,
      },
      { names: ['docs'], load: async () => (await import('./commands/docs.js')).addDocs },
      { names: ['version'], load: async () => (await import('./commands/version.js')).addVersion },
    ],
  },
];

export const commandModules: readonly CommandModule[] = groups.flatMap(({ modules }) => modules);

const groupOf = new Map(
  groups.flatMap(({ group, modules }) =>
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
  const commands = await Promise.all(chosen.map(({ load }) => load()));
  const program = programWith(commands.flat());
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

/** The command in the arguments: the first word that is not an option or its value. */
export function commandAsked(args: readonly string[]): string | undefined {
  for (let i = 0; i < args.length; i++) {
    const word = args[i]!;
    if (!word.startsWith('-')) return word;
    // Of the program's own options only --version and --help have no value.
    if (['-c', '--config', '--set', '--nats'].includes(word)) i++;
  }
  return undefined;
}
