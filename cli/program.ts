import type { Command } from 'commander';
import { OTHER_COMMANDS as OTHER, programWith } from './bare-program.js';

type Add = (program: Command) => void;

/** Commands, and the module that brings them. */
export interface CommandModule {
  readonly names: readonly string[];
  load(): Promise<Add | readonly Add[]>;
}

/** In the order of the help. */
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
    group: 'Look at what it does:',
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
    group: 'Change what it does:',
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

/** They speak of all the others. */
const OF_ALL = ['completion', 'docs'];

/**
 * `gleaner` with all its commands, or with those alone that come with the one asked for: a question
 * to a running Gleaner does not wait for the simulator and the learners to be loaded, nor does
 * systemd, which runs `restore --local` after a hook that died, while calls run at limits that
 * nobody guards.
 */
export async function gleanerProgram(asked?: string): Promise<Command> {
  const one = commandModules.filter(({ names }) => asked !== undefined && names.includes(asked));
  const chosen = one.length === 0 || OF_ALL.includes(asked!) ? commandModules : one;
  const commands = await Promise.all(chosen.map(({ load }) => load()));
  const program = programWith(commands.flat());
  for (const command of program.commands) command.helpGroup(groupOf.get(command.name()) ?? OTHER);
  return program;
}
