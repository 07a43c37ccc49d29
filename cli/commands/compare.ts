import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import {
  EXIT,
  GleanerError,
  messageOf,
  packageVersion,
  policyNames,
  UsageError,
} from '../../config/index.js';
import {
  type Comparison,
  type ComparisonRequest,
  type Contender,
  compareRuns,
  comparisonOverview,
  comparisonReport,
  contenderNames,
  placeOf,
  planJobs,
  planSections,
  runJobs,
  runsCsv,
  trainedContender,
  withVerdicts,
} from '../../experiments/compare/index.js';
import { loadTrainedPolicy, type TrainedPolicy } from '../../experiments/training/index.js';
import {
  compactJson,
  type GlobalOptions,
  processScreen,
  stderrProgress,
} from '../../runtime/index.js';
import type { ClusterMode } from '../../simulator/engine/index.js';
import {
  type SimulationSettings,
  simulatedContender,
  simulationSettings,
  warnIgnored,
} from '../simulation-settings.js';
import {
  addOutputOption,
  globalOptions,
  makeOutputFolder,
  type OutputOptions,
  print,
  quote,
  wholeNumber,
} from './common.js';
import {
  addActivationsOption,
  addHostOptions,
  type HostOptions,
  hostOptions,
  hostsOf,
  LARGE_HOSTS,
  listOf,
  MANAGERS_HINT,
  namedContender,
  offeredLoad,
  oneOf,
} from './simulation-options.js';

interface CompareOptions extends OutputOptions, HostOptions, GlobalOptions {
  readonly managers: string[];
  /** `NAME=FOLDER` each. */
  readonly policy?: readonly string[];
  readonly seeds: number;
  readonly firstSeed: number;
  readonly workloads: string[];
  readonly functions?: number;
  readonly activations?: number;
  readonly loads: number[];
  readonly modes: ClusterMode[];
  readonly density: number[] | false;
  readonly workers: number;
  readonly out: string;
}

const WORKLOADS = ['azure-sample', 'profiles-12@1'];
const LOADS = [0.5, 0.7, 0.9];
const MODES: ClusterMode[] = ['weight', 'quota'];
/** From scarce to ample for a thousand functions on thirty hosts. */
const DENSITY_MIB = [4096, 6144, 8192, 16_384, 32_768];

export function addCommands(program: Command): void {
  const command = program
    .command('compare')
    .description(
      'compare managers and policies on the same activations; write HTML, CSV and JSON files',
    )
    .option('--managers <names>', `all, or comma-separated: ${MANAGERS_HINT}`, listOf(String), [
      'all',
    ])
    .option(
      '--policy <name=folder>',
      'also compare the policy that `gleaner train` wrote to the folder, as name (repeatable)',
      policyOption,
    )
    .option('--seeds <n>', 'number of seeds', wholeNumber, 5)
    .option('--first-seed <n>', 'first seed', wholeNumber, 1)
    .option(
      '--workloads <names>',
      'comma-separated names, files, folders of trace tables; name@2: on two hosts',
      listOf(String),
      WORKLOADS,
    )
    .option('--functions <n>', 'only the first n functions of each workload', wholeNumber);
  addActivationsOption(command, 'activations per run; repeats or cuts each workload')
    .option(
      '--loads <list>',
      'offered loads, by scaling the gaps between activations',
      listOf(offeredLoad),
      LOADS,
    )
    .option(
      '--modes <list>',
      'weight: stock containers; quota: with a CPU quota each',
      listOf(oneOf('weight', 'quota')),
      MODES,
    )
    .option(
      '--density <MiB list>',
      'user memories per host for the density section',
      listOf(wholeNumber),
      DENSITY_MIB,
    )
    .option('--no-density', 'no density section');
  // Ample memory, so that contenders differ by CPU; the density section varies memory. With too
  // little memory an overloaded host evicts containers that it needs next, and never recovers from
  // the CPU cost of the cold starts.
  addHostOptions(command, LARGE_HOSTS)
    .option(
      '--workers <n>',
      'threads, without effect on results (default: one per core)',
      wholeNumber,
    )
    .option('--out <folder>', 'folder of the files', 'gleaner-comparison');
  addOutputOption(command).action(async (own: CompareOptions, self: Command) => {
    const options = { ...own, ...globalOptions(self) };
    const settings = simulationSettings(options);
    warnIgnored(settings.ignored);
    for (const workload of options.workloads)
      hostsOf(placeOf(workload).workload, options, LARGE_HOSTS);
    for (const name of options.managers) if (name !== 'all') namedContender(name);
    const added = [
      ...(settings.configured === undefined ? [] : [simulatedContender(settings.configured)]),
      ...(await trainedContenders(options)),
    ];
    makeOutputFolder(options.out);
    const command = commandOf(self, options);
    const comparison = withVerdicts(await compare(options, settings, added, command));
    // Before the files: no figure is lost if one cannot be written.
    print(options.output, comparison, () => `${comparisonOverview(comparison)}\n`);
    const files: [string, string][] = [
      ['comparison.json', compactJson(comparison)],
      ['runs.csv', runsCsv(comparison)],
      ['report.html', comparisonReport(comparison)],
    ];
    for (const [name, text] of files) {
      const path = join(options.out, name);
      writeFileSync(path, text);
      if (options.output === 'table') processScreen.write(`${path}\n`);
    }
    for (const warning of comparison.warnings) process.stderr.write(`gleaner: ${warning}\n`);
    const ahead = comparison.sections.flatMap(({ beatOracle }) => beatOracle);
    if (ahead.length > 0)
      process.stderr.write(
        `gleaner: better than the oracle, which is a fault of the model: ${ahead.join(', ')}\n`,
      );
    process.exitCode = ahead.length > 0 ? EXIT.failed : EXIT.ok;
  });
}

async function compare(
  options: CompareOptions,
  { settings }: SimulationSettings,
  added: readonly Contender[],
  command: string,
): Promise<Comparison> {
  const seeds = Array.from({ length: options.seeds }, (_, i) => options.firstSeed + i);
  const request: ComparisonRequest = {
    contenders: options.managers,
    seeds,
    workloads: options.workloads,
    functions: options.functions,
    activations: options.activations,
    loads: options.loads,
    modes: options.modes,
    hosts: hostOptions(options),
    defaultHosts: LARGE_HOSTS,
    densityMiB: options.density || [],
    settings,
    added,
  };
  const sections = planSections(request);
  const jobs = planJobs(sections, seeds);
  const progress = stderrProgress();
  const onDone = (done: number) =>
    progress.update(done / jobs.length, `${done} of ${jobs.length} runs`);
  onDone(0);
  try {
    const results = await runJobs(jobs, {
      workers: options.workers ?? availableParallelism(),
      onDone,
    });
    return compareRuns(sections, jobs, results, {
      command,
      gleaner: packageVersion(),
      seeds,
    });
  } finally {
    progress.end();
  }
}

const POLICY_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

/** Names of contenders that a policy cannot have. */
const isTaken = (name: string): boolean =>
  ['all', 'configured', ...contenderNames(), ...policyNames].includes(name);

/** The two sides of `NAME=FOLDER`; a folder may have more of `=` in its name. */
function nameAndFolder(text: string): [name: string, folder: string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Parses one `--policy` after others. */
function policyOption(text: string, before: readonly string[] = []): string[] {
  const [name, folder] = nameAndFolder(text);
  if (!text.includes('=') || folder === '') throw new InvalidArgumentError('must be NAME=FOLDER');
  if (!POLICY_NAME.test(name))
    throw new InvalidArgumentError(
      'NAME has 1 to 40 letters, digits, - and _, a letter or digit first',
    );
  if (isTaken(name) || before.some((other) => nameAndFolder(other)[0] === name))
    throw new InvalidArgumentError(`a manager, a policy or another --policy is called '${name}'`);
  return [...before, text];
}

/** @throws UsageError for a policy that cannot be read, or that no section would play */
async function trainedContenders({ policy = [], modes }: CompareOptions): Promise<Contender[]> {
  const contenders: Contender[] = [];
  for (const [name, folder] of policy.map(nameAndFolder)) {
    const trained = await trainedPolicy(name, folder);
    if (!modes.includes(trained.mode))
      throw new UsageError(
        `--policy ${name}: it was trained in ${trained.mode} mode, which --modes leaves out`,
        { hint: `add ${trained.mode} to --modes, or leave the policy out` },
      );
    contenders.push(trainedContender(name, trained));
  }
  return contenders;
}

async function trainedPolicy(name: string, folder: string): Promise<TrainedPolicy> {
  try {
    return await loadTrainedPolicy(folder);
  } catch (error) {
    throw new UsageError(`--policy ${name}: ${messageOf(error)}`, {
      hint: error instanceof GleanerError ? error.hint : 'name a folder that `gleaner train` wrote',
      cause: error,
    });
  }
}

/** Options without effect on the results. */
const OUTPUT_OPTIONS = ['workers', 'out', 'output'];
/** Shown also with their defaults. */
const SHOWN_OPTIONS = ['managers', 'seeds'];

/** Quoted only if it must be: people read it. */
const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : quote(text));

/** The command that repeats the comparison, without the output folder and workers. */
function commandOf(self: Command, { config, set = [] }: GlobalOptions): string {
  const flags = self.options.flatMap((option) => {
    const name = option.name();
    const value: unknown = self.getOptionValue(option.attributeName());
    if (option.negate) return value === false ? [`--${name}`] : [];
    if (option.hidden || value === false || OUTPUT_OPTIONS.includes(name)) return [];
    const isDefault = String(value) === String(option.defaultValue);
    if (isDefault && !SHOWN_OPTIONS.includes(name)) return [];
    const values = name === 'policy' ? (value as readonly string[]) : [String(value)];
    return values.map((one) => `--${name} ${shellWord(one)}`);
  });
  return [
    'gleaner',
    ...(config === undefined ? [] : [`--config ${shellWord(config)}`]),
    ...set.map((one) => `--set ${shellWord(one)}`),
    'compare',
    ...flags,
  ].join(' ');
}
