import { type Command, Option } from 'commander';
import {
  callStream,
  type LoadedWorkload,
  openWorkload,
  type PublishedManagerName,
  type PublishedSummary,
  playPublished,
  publishedManagerNames,
  type RunSummary,
  readPublishedSample,
  simulateCluster,
  summarizePublished,
} from '../../simulator/index.js';
import { runTable } from '../compare/run-table.js';
import { UsageError } from '../exit.js';
import { json, processScreen, table } from '../output.js';
import { stderrProgress } from '../progress.js';
import { addOutputOption, type OutputOptions } from './common.js';
import {
  addHostOptions,
  checkHosts,
  type HostOptions,
  MANAGERS_HINT,
  namedContender,
  offeredLoad,
  wholeNumber,
} from './simulation-options.js';

interface SimulateOptions extends OutputOptions, HostOptions {
  readonly mode: 'weight' | 'quota' | 'freyr-2021';
  readonly workload: string;
  readonly functions?: number;
  readonly load?: number;
  readonly calls?: number;
  readonly manager: string;
  readonly seed: number;
  readonly strict?: boolean;
}

export function addSimulate(program: Command): void {
  const command = program
    .command('simulate')
    .description('run a workload on a simulated cluster under one manager or policy')
    .addOption(
      new Option(
        '--mode <mode>',
        "weight: containers as stock OpenWhisk makes them; quota: with a CPU quota each; freyr-2021: the published FaaSRM simulator's rules, to reproduce its figures",
      )
        .choices(['weight', 'quota', 'freyr-2021'])
        .default('weight'),
    )
    .option('--workload <name or path>', 'a workload by name, its file, or a folder of trace tables', 'azure-sample')
    .option('--functions <n>', 'only so many functions, from the first on', wholeNumber)
    .option('--load <x>', 'offered load that gaps between calls are stretched or compressed to', offeredLoad)
    .option('--calls <n>', 'repeat the workload until there are so many calls', wholeNumber)
    .option('--manager <name>', MANAGERS_HINT, 'fixed')
    .option('--seed <n>', 'one seed, one run', wholeNumber, 1);
  addHostOptions(command, 'invoker hosts').option('--strict', 'whatever is odd in a trace is an error');
  addOutputOption(command).action((options: SimulateOptions) => {
    if (options.mode === 'freyr-2021') {
      const summary = simulatePublished(options);
      processScreen.write(options.output === 'json' ? json(summary) : publishedTable(summary));
      return;
    }
    checkHosts(options);
    const { loaded, run } = simulate(options, options.mode);
    processScreen.write(options.output === 'json' ? json(run) : runTable(run, loaded));
  });
}

function simulate(options: SimulateOptions, mode: 'weight' | 'quota'): { loaded: LoadedWorkload; run: RunSummary } {
  const { hosts, cores, memory, userMemory, seed, load } = options;
  const { name, manager, safeguard, quotaPolicy, weightPolicy, modes } = namedContender(options.manager);
  if (!modes.includes(mode))
    process.stderr.write(`gleaner: ${name} decides in ${modes.join()} mode only; in ${mode} mode CPU stays as it is\n`);
  const loaded = openWorkload(options.workload, {
    functions: options.functions,
    seed,
    strict: options.strict,
    load: load === undefined ? undefined : { load, cores: hosts * cores },
  });
  const progress = stderrProgress();
  try {
    const run = simulateCluster({
      calls: callStream(loaded, { seed, calls: options.calls }),
      cluster: { hosts, cores, memoryMiB: memory, userMemoryMiB: userMemory },
      mode,
      manager,
      safeguard,
      quotaPolicy,
      weightPolicy,
      seed,
      onProgress: ({ share, activations }) => progress.update(share, `${activations} activations`),
    });
    return { loaded, run };
  } finally {
    progress.end();
  }
}

/** As many functions as the published runs had at least. */
const PUBLISHED_FUNCTIONS = 10;

function simulatePublished({ workload, functions, manager, seed }: SimulateOptions): PublishedSummary {
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
  return table(
    [
      { title: 'figure', value: ([name]) => name },
      { title: 'value', value: ([, value]) => String(Number(value.toFixed(4))), right: true },
    ],
    Object.entries(summary) as [string, number][],
  );
}
