import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { EXIT, programVersion } from '../../config/index.js';
import {
  type Comparison,
  type ComparisonRequest,
  type Contender,
  compareRuns,
  comparisonOverview,
  comparisonReport,
  type Job,
  type JobResult,
  KeptRuns,
  type PartOf,
  partOf,
  placeOf,
  planJobs,
  planSections,
  runJobs,
  runsCsv,
  withVerdicts,
} from '../../experiments/compare/index.js';
import {
  compactJson,
  type GlobalOptions,
  processScreen,
  stderrProgress,
} from '../../runtime/index.js';
import type { ClusterMode } from '../../simulator/engine/index.js';
import type { Part } from '../../simulator/workload/index.js';
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
import { policyOption, trainedContenders } from './policy-option.js';
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
  readonly workloadPart?: Part;
  readonly functions?: number;
  readonly activations?: number;
  readonly loads: number[];
  readonly modes: ClusterMode[];
  readonly density: number[] | false;
  readonly workers: number;
  readonly keep?: boolean;
  readonly part?: PartOf;
  readonly out: string;
}

/** Folder of the kept runs, in that of `--out`. */
const RUNS = 'runs';
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
    .option(
      '--workload-part <name>',
      'only this part of each workload: train (what `gleaner train` plays), validation or test',
      oneOf('train', 'validation', 'test'),
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
    .option('--out <folder>', 'folder of the files', 'gleaner-comparison')
    .option(
      '--keep',
      `keep each run in the folder ${RUNS} of --out; one that is there is not played again`,
    )
    .option(
      '--part <i/n>',
      `only keep the i-th of n disjoint parts of the runs; copy the folders ${RUNS} of all parts ` +
        'into one, then compare with --keep',
      partOption,
    );
  addOutputOption(command).action(async (own: CompareOptions, self: Command) => {
    const options = { ...own, ...globalOptions(self) };
    const settings = simulationSettings(options);
    warnIgnored(settings.ignored);
    for (const workload of options.workloads)
      hostsOf(placeOf(workload).workload, options, LARGE_HOSTS);
    for (const name of options.managers) if (name !== 'all') namedContender(name);
    const added = [
      ...(settings.configured === undefined ? [] : [simulatedContender(settings.configured)]),
      ...(await trainedContenders(options.policy, options.modes)),
    ];
    makeOutputFolder(options.out);
    const request = requestOf(options, settings, added);
    if (options.part !== undefined) return playPart(request, options.part, options);
    const comparison = withVerdicts(await compare(request, options, commandOf(self, options)));
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

const requestOf = (
  options: CompareOptions,
  { settings }: SimulationSettings,
  added: readonly Contender[],
): ComparisonRequest => ({
  contenders: options.managers,
  seeds: Array.from({ length: options.seeds }, (_, i) => options.firstSeed + i),
  workloads: options.workloads,
  part: options.workloadPart,
  functions: options.functions,
  activations: options.activations,
  loads: options.loads,
  modes: options.modes,
  hosts: hostOptions(options),
  defaultHosts: LARGE_HOSTS,
  densityMiB: options.density || [],
  settings,
  added,
});

async function compare(
  request: ComparisonRequest,
  options: CompareOptions,
  command: string,
): Promise<Comparison> {
  const { seeds } = request;
  const sections = planSections(request);
  const jobs = planJobs(sections, seeds);
  const results = await play(jobs, options);
  return compareRuns(sections, jobs, results, { command, gleaner: programVersion(), seeds });
}

async function playPart(
  request: ComparisonRequest,
  part: PartOf,
  options: CompareOptions,
): Promise<void> {
  const all = planJobs(planSections(request), request.seeds);
  const jobs = partOf(all, part);
  await play(jobs, { ...options, keep: true });
  const folder = join(options.out, RUNS);
  print(
    options.output,
    { folder, kept: jobs.length, runs: all.length },
    () => `${jobs.length} of ${all.length} runs are kept\n${folder}\n`,
  );
}

async function play(
  jobs: readonly Job[],
  { workers = availableParallelism(), keep, out }: CompareOptions,
): Promise<JobResult[]> {
  const progress = stderrProgress();
  try {
    return await runJobs(jobs, {
      workers,
      kept: keep === true ? new KeptRuns(join(out, RUNS)) : undefined,
      onDone: (done) => progress.update(done / jobs.length, `${done} of ${jobs.length} runs`),
    });
  } finally {
    progress.end();
  }
}

function partOption(text: string): PartOf {
  const [, part, of] = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(text)?.map(Number) ?? [];
  if (part === undefined || of === undefined || part > of)
    throw new InvalidArgumentError('must be I/N with I from 1 to N, such as 2/3');
  return { part, of };
}

/** Options without effect on the results. */
const OUTPUT_OPTIONS = ['workers', 'out', 'output', 'keep', 'part'];
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
