import { type Command, Option } from 'commander';
import { UsageError } from '../../config/index.js';
import { ActivationExport, type Contender, runTable } from '../../experiments/compare/index.js';
import {
  type GlobalOptions,
  json,
  left,
  processScreen,
  right,
  stderrProgress,
  table,
} from '../../runtime/index.js';
import {
  type ClusterMode,
  limitingResource,
  type RunSummary,
  simulateCluster,
  simulatedOptions,
} from '../../simulator/engine/index.js';
import {
  type PublishedManagerName,
  type PublishedSummary,
  playPublished,
  publishedManagerNames,
  readPublishedSample,
  summarizePublished,
} from '../../simulator/freyr-2021/index.js';
import {
  activationStream,
  dataIssues,
  type LoadedWorkload,
  openWorkload,
} from '../../simulator/workload/index.js';
import { simulatedContender, simulationSettings, warnIgnored } from '../simulation-settings.js';
import { addOutputOption, globalOptions, type OutputOptions, wholeNumber } from './common.js';
import { onePolicyOption, trainedContenders } from './policy-option.js';
import {
  addActivationsOption,
  addHostOptions,
  type HostOptions,
  hostsOf,
  MANAGERS_HINT,
  namedContender,
  offeredLoad,
} from './simulation-options.js';

interface SimulateOptions extends OutputOptions, HostOptions {
  readonly mode: 'weight' | 'quota' | 'freyr-2021';
  readonly workload: string;
  readonly functions?: number;
  readonly load?: number;
  readonly activations?: number;
  readonly manager?: string;
  /** One `NAME=FOLDER`. */
  readonly policy?: readonly string[];
  readonly seed: number;
  readonly strict?: boolean;
  readonly export?: string;
}

export function addCommands(program: Command): void {
  const command = program
    .command('simulate')
    .description('run a workload on a simulated cluster under one manager or policy')
    .addOption(
      new Option(
        '--mode <mode>',
        'weight: stock OpenWhisk containers; quota: with CPU quotas; ' +
          'freyr-2021: rules of the published FaaSRM simulator',
      )
        .choices(['weight', 'quota', 'freyr-2021'])
        .default('weight'),
    )
    .option(
      '--workload <name or path>',
      'a workload by name, its file, or a folder of trace tables',
      'azure-sample',
    )
    .option('--functions <n>', 'only the first n functions', wholeNumber)
    .option('--load <x>', 'offered load, by scaling the gaps between activations', offeredLoad);
  addActivationsOption(command, 'number of activations; repeats the workload')
    .option('--manager <name>', `${MANAGERS_HINT} (default: as configured, otherwise fixed)`)
    .addOption(
      new Option(
        '--policy <name=folder>',
        'in place of a manager: the policy that `gleaner train` wrote to the folder, as name',
      )
        .argParser(onePolicyOption)
        .conflicts('manager'),
    )
    .option('--seed <n>', 'seed of the run', wholeNumber, 1);
  addHostOptions(command)
    .option('--strict', 'treat invalid rows of a trace as errors')
    .option(
      '--export <file>',
      'write a row per activation to a .csv or .jsonl file (columns: docs/simulate.md)',
    );
  addOutputOption(command).action(async (own: SimulateOptions, self: Command) => {
    const options = { ...own, ...globalOptions(self) };
    const [trained] = await trainedContenders(options.policy, [options.mode], '--mode');
    if (options.mode === 'freyr-2021') {
      const summary = simulatePublished(options);
      processScreen.write(options.output === 'json' ? json(summary) : publishedTable(summary));
      return;
    }
    const { loaded, run } = simulate(options, options.mode, trained);
    processScreen.write(
      options.output === 'json'
        ? json({
            ...run,
            ...(trained && { policy: trained.name }),
            limitedBy: limitingResource(run),
            data: loaded.summary === undefined ? [] : dataIssues(loaded.summary),
          })
        : runTable(run, loaded, trained?.name),
    );
  });
}

function simulate(
  options: SimulateOptions & GlobalOptions,
  mode: ClusterMode,
  policy: Contender | undefined,
): { loaded: LoadedWorkload; run: RunSummary } {
  const { workload, seed, load } = options;
  const { settings, configured, ignored } = simulationSettings(options);
  warnIgnored(ignored);
  const { name, manager, trained, safeguard, quotaPolicy, weightPolicy, modes } =
    policy ??
    (options.manager === undefined && configured !== undefined
      ? simulatedContender(configured)
      : namedContender(options.manager ?? 'fixed'));
  if (!modes.includes(mode))
    process.stderr.write(
      `gleaner: ${name} decides in ${modes.join()} mode only; CPU is unchanged in ${mode} mode\n`,
    );
  const shape = hostsOf(workload, options);
  const loaded = openWorkload(workload, {
    functions: options.functions,
    seed,
    strict: options.strict,
    load: load === undefined ? undefined : { load, cores: shape.hosts * shape.cores },
  });
  const activations = activationStream(loaded, { seed, activations: options.activations });
  const rows =
    options.export === undefined
      ? null
      : ActivationExport.to(options.export, activations.functions);
  const progress = stderrProgress();
  try {
    const run = simulateCluster({
      activations,
      cluster: shape,
      mode,
      ...simulatedOptions(settings),
      manager,
      trained: trained?.state,
      safeguard,
      quotaPolicy,
      weightPolicy,
      seed,
      ...(rows === null ? {} : { recorder: rows }),
      onProgress: ({ share, activations }) => progress.update(share, `${activations} activations`),
    });
    return { loaded, run };
  } finally {
    rows?.close();
    progress.end();
  }
}

/** The smallest number of functions in the published runs. */
const PUBLISHED_FUNCTIONS = 10;

function simulatePublished({
  workload,
  functions,
  manager = 'fixed',
  seed,
}: SimulateOptions): PublishedSummary {
  if (!isPublishedManager(manager))
    throw new UsageError(`the published simulator has no manager '${manager}'`, {
      hint: `one of: ${publishedManagerNames.join(', ')}`,
    });
  const sample = readPublishedSample(workload, functions ?? PUBLISHED_FUNCTIONS);
  return summarizePublished(playPublished(sample, { manager, seed }));
}

const isPublishedManager = (name: string): name is PublishedManagerName =>
  (publishedManagerNames as readonly string[]).includes(name);

function publishedTable(summary: PublishedSummary): string {
  return table(Object.entries(summary) as [string, number][], [
    left('figure', ([name]) => name),
    right('value', ([, value]) => String(Number(value.toFixed(4)))),
  ]);
}
