import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type PublishedManagerName,
  type PublishedSummary,
  playPublished,
  publishedManagerNames,
  readPublishedSample,
  summarizePublished,
} from '../../simulator/index.js';
import { UsageError } from '../exit.js';
import { json, processScreen, table } from '../output.js';
import { addOutputOption, type OutputOptions } from './common.js';

interface SimulateOptions extends OutputOptions {
  readonly mode: 'freyr-2021';
  readonly workload: string;
  readonly functions: number;
  readonly manager: string;
  readonly seed: number;
}

export function addSimulate(program: Command): void {
  const command = program
    .command('simulate')
    .description('one run of a workload under one manager, in simulated time')
    .addOption(
      new Option('--mode <mode>', "freyr-2021: the published FaaSRM simulator's rules, to reproduce its figures")
        .choices(['freyr-2021'])
        .default('freyr-2021'),
    )
    .requiredOption('--workload <path>', 'folder of a trace sample, or its file of invocations')
    .option('--functions <n>', 'how many functions of the sample, from its first row on', wholeNumber, 10)
    .option('--manager <name>', 'who decides', 'fixed')
    .option('--seed <n>', 'one seed, one run', wholeNumber, 1);
  addOutputOption(command).action((options: SimulateOptions) => {
    const summary = simulatePublished(options);
    processScreen.write(options.output === 'json' ? json(summary) : publishedTable(summary));
  });
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1) throw new InvalidArgumentError('must be a whole number from 1 on');
  return Number(text);
}

function simulatePublished({ workload, functions, manager, seed }: SimulateOptions): PublishedSummary {
  if (!isPublishedManager(manager))
    throw new UsageError(`the published simulator has no manager '${manager}'`, {
      hint: `one of: ${publishedManagerNames.join(', ')}`,
    });
  return summarizePublished(playPublished(readPublishedSample(workload, functions), { manager, seed }));
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
