import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { EXIT, packageVersion } from '../../config/index.js';
import {
  type Comparison,
  type ComparisonRequest,
  type ComparisonWithVerdicts,
  changeText,
  compareRuns,
  comparisonReport,
  configuredContender,
  figure,
  percentage,
  placeOf,
  planJobs,
  planSections,
  RANKED_BY,
  ranking,
  runJobs,
  runsCsv,
  withVerdicts,
} from '../../experiments/compare/index.js';
import type { GlobalOptions } from '../../runtime/index.js';
import { compactJson, json, processScreen, stderrProgress, table } from '../../runtime/index.js';
import type { ClusterMode } from '../../simulator/engine/index.js';
import {
  type SimulationSettings,
  simulationSettings,
  warnIgnored,
} from '../simulation-settings.js';
import { addOutputOption, globalOptions, type OutputOptions, wholeNumber } from './common.js';
import {
  addHostOptions,
  type HostOptions,
  hostOptions,
  hostsOf,
  LARGE_HOSTS,
  listOf,
  MANAGERS_HINT,
  namedContender,
  offeredLoad,
} from './simulation-options.js';

interface CompareOptions extends OutputOptions, HostOptions, GlobalOptions {
  readonly managers: string[];
  readonly seeds: number;
  readonly firstSeed: number;
  readonly workloads: string[];
  readonly functions?: number;
  readonly calls?: number;
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

export function addCompare(program: Command): void {
  const command = program
    .command('compare')
    .description(
      'compare managers and policies on the same activations; write HTML, CSV and JSON files',
    )
    .option('--managers <names>', `all, or comma-separated: ${MANAGERS_HINT}`, listOf(String), [
      'all',
    ])
    .option('--seeds <n>', 'number of seeds', wholeNumber, 5)
    .option('--first-seed <n>', 'first seed', wholeNumber, 1)
    .option(
      '--workloads <names>',
      'comma-separated names, files, folders of trace tables; name@2: on two hosts',
      listOf(String),
      WORKLOADS,
    )
    .option('--functions <n>', 'only the first n functions of each workload', wholeNumber)
    .option('--calls <n>', 'activations per run; repeats or cuts each workload', wholeNumber)
    .option(
      '--loads <list>',
      'offered loads, by scaling the gaps between activations',
      listOf(offeredLoad),
      LOADS,
    )
    .option(
      '--modes <list>',
      'weight: stock containers; quota: with a CPU quota each',
      listOf(clusterMode),
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
    const comparison = withVerdicts(await compare(options, settings));
    mkdirSync(options.out, { recursive: true });
    const files: [string, string][] = [
      ['comparison.json', compactJson(comparison)],
      ['runs.csv', runsCsv(comparison)],
      ['report.html', comparisonReport(comparison)],
    ];
    for (const [name, text] of files) writeFileSync(join(options.out, name), text);
    if (options.output === 'json') processScreen.write(json(comparison));
    else
      processScreen.write(
        `${overview(comparison)}\n${files.map(([name]) => join(options.out, name)).join('\n')}\n`,
      );
    for (const warning of comparison.warnings) process.stderr.write(`gleaner: ${warning}\n`);
    const ahead = comparison.sections.flatMap(({ beatOracle }) => beatOracle);
    if (ahead.length > 0)
      process.stderr.write(
        `gleaner: better than the oracle, which is a fault of the model: ${ahead.join(', ')}\n`,
      );
    process.exitCode = ahead.length > 0 ? EXIT.failed : EXIT.ok;
  });
}

function clusterMode(text: string): ClusterMode {
  if (text !== 'weight' && text !== 'quota')
    throw new InvalidArgumentError('must be weight or quota');
  return text;
}

async function compare(
  options: CompareOptions,
  { settings, configured }: SimulationSettings,
): Promise<Comparison> {
  const seeds = Array.from({ length: options.seeds }, (_, i) => options.firstSeed + i);
  const request: ComparisonRequest = {
    contenders: options.managers,
    seeds,
    workloads: options.workloads,
    functions: options.functions,
    calls: options.calls,
    loads: options.loads,
    modes: options.modes,
    hosts: hostOptions(options),
    defaultHosts: LARGE_HOSTS,
    densityMiB: options.density || [],
    settings,
    configured: configured && configuredContender('configured', configured),
  };
  const sections = planSections(request);
  const jobs = planJobs(sections, seeds);
  const progress = stderrProgress();
  try {
    const results = await runJobs(jobs, {
      workers: options.workers ?? availableParallelism(),
      onDone: (done) => progress.update(done / jobs.length, `${done} of ${jobs.length} runs`),
    });
    return compareRuns(sections, jobs, results, {
      command: commandOf(options),
      gleaner: packageVersion(),
      seeds,
    });
  } finally {
    progress.end();
  }
}

/** The command that repeats the comparison, without the output folder and workers. */
function commandOf(options: CompareOptions): string {
  const configuration = [
    ...(options.config === undefined ? [] : [`--config ${options.config}`]),
    ...(options.set ?? []).map((one) => `--set ${one}`),
  ];
  const parts = [
    ['gleaner', ...configuration, 'compare'].join(' '),
    `--managers ${options.managers.join(',')}`,
    `--seeds ${options.seeds}`,
  ];
  const differs = (name: string, value: unknown, otherwise: unknown): void => {
    if (String(value) !== String(otherwise)) parts.push(`--${name} ${value}`);
  };
  differs('first-seed', options.firstSeed, 1);
  differs('workloads', options.workloads, WORKLOADS);
  differs('functions', options.functions, undefined);
  differs('calls', options.calls, undefined);
  differs('loads', options.loads, LOADS);
  differs('modes', options.modes, MODES);
  if (options.density === false) parts.push('--no-density');
  else differs('density', options.density, DENSITY_MIB);
  differs('hosts', options.hosts, undefined);
  differs('cores', options.cores, undefined);
  differs('memory', options.memory, undefined);
  differs('user-memory', options.userMemory, undefined);
  return parts.join(' ');
}

/** The ranking of every section, for the terminal. */
function overview({ sections }: ComparisonWithVerdicts): string {
  return sections
    .map((section) => {
      const rows = [...ranking(section), ...section.rows.filter(({ isNoise }) => isNoise)];
      const body = table(
        [
          { title: 'contender', value: ({ name }) => name },
          {
            title: 'slowdown',
            value: ({ figures }) => figure(figures[RANKED_BY]!.mean),
            right: true,
          },
          {
            title: 'against fixed (95 %)',
            value: ({ paired }) =>
              paired === undefined ? '-' : changeText(paired[RANKED_BY]!, { unit: '' }),
            right: true,
          },
          {
            title: 'response ms',
            value: ({ figures }) => figure(figures['response.mean']!.mean),
            right: true,
          },
          {
            title: 'cold',
            value: ({ figures }) => percentage(figures['cold.share']!.mean),
            right: true,
          },
          {
            title: 'saved s',
            value: ({ figures }) => figure(figures['saved.seconds']!.mean),
            right: true,
          },
          {
            title: 'slowed down',
            value: ({ victims }) => `${victims.slowedDown}/${victims.judged}`,
            right: true,
          },
        ],
        rows,
      );
      const load = `offered load ${figure(section.offeredLoad)}; the oracle has 1`;
      return `${section.setting.name} (${load})\n${body}${section.verdict.join('\n')}\n`;
    })
    .join('\n');
}
