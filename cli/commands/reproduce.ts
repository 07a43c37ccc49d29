import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { EXIT } from '../../config/index.js';
import { reproduceAware } from '../../experiments/aware/index.js';
import {
  concurrencyReport,
  concurrencyStudy,
  studyVerdicts,
} from '../../experiments/concurrency/index.js';
import {
  FAASRM_QUICK_SEEDS,
  FAASRM_SEEDS,
  faasrmMisses,
  faasrmReport,
  runFaasrm,
} from '../../experiments/faasrm/index.js';
import {
  newFunctionMissed,
  newFunctionReport,
  newFunctionStudy,
  newFunctionTables,
} from '../../experiments/new-function/index.js';
import {
  PAYLOAD_CASES,
  payloadMissed,
  payloadReport,
  payloadStudy,
} from '../../experiments/payload/index.js';
import { sizingMissed, sizingReport, sizingStudy } from '../../experiments/right-sizing/index.js';
import {
  FULL,
  QUICK,
  runStudy,
  simppoFigures,
  simppoMissed,
  simppoReport,
} from '../../experiments/simppo/index.js';
import { json, processScreen, stderrProgress } from '../../runtime/index.js';
import { addOutputOption, type OutputOptions, wholeNumber } from './common.js';

interface ReproduceOptions extends OutputOptions {
  readonly out: string;
  readonly quick: boolean;
}

interface Reproduction {
  readonly markdown: string;
  readonly figures: unknown;
  /** Missed goals. */
  readonly missed: readonly string[];
}

/** Prints a reproduction and writes `<name>.md`. */
function deliver(
  name: string,
  { markdown, figures, missed }: Reproduction,
  { out, output }: ReproduceOptions,
): void {
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, `${name}.md`), markdown);
  processScreen.write(output === 'json' ? json(figures) : markdown);
  for (const text of missed) process.stderr.write(`gleaner: missed: ${text}\n`);
  process.exitCode = missed.length > 0 ? EXIT.failed : EXIT.ok;
}

/** Runs a study under a progress bar. */
function withProgress<T>(run: (update: (done: number, all: number) => void) => T): T {
  const progress = stderrProgress();
  try {
    return run((done, all) => progress.update(done / all, `${done} of ${all} runs`));
  } finally {
    progress.end();
  }
}

const addStudy = (reproduce: Command, name: string, description: string): Command =>
  addOutputOption(
    reproduce
      .command(name)
      .description(description)
      .option('--quick', 'a small version of the study', false)
      .option('--out <folder>', `folder of the page`, 'gleaner-reproduction'),
  );

/** First limits of the tuners: Knative's default, and the upper end. */
const STARTS = [100, 310];
const SEEDS = 20;
const QUICK_SEEDS = 5;

function reproduceConcurrency(
  seeds: readonly number[],
  starts: readonly number[],
  command: string,
): Reproduction {
  const rows = concurrencyStudy({ seeds, starts });
  const verdicts = studyVerdicts(rows);
  return {
    markdown: concurrencyReport(rows, verdicts, command),
    figures: { rows, verdicts },
    missed: verdicts.flatMap(({ surface, start, finds, beatsConstant }) => [
      ...(finds ? [] : [`${surface} from ${start}: not found in 90 % of the seeds`]),
      ...(beatsConstant ? [] : [`${surface} from ${start}: not above constant 100`]),
    ]),
  };
}

/** Load .25 is that of the recorded sample; memory is scarce to nearly ample. */
const SIZING = {
  hosts: 30,
  cores: 8,
  memoryMiB: 131_072,
  userMemoryMiB: [4096, 6144, 8192],
  load: 0.25,
} as const;
const SIZING_QUICK = { ...SIZING, hosts: 6, functions: 200, userMemoryMiB: [6144] } as const;
const SIZING_SEEDS = 5;
const SIZING_QUICK_SEEDS = 2;

function reproduceRightSizing(
  seeds: readonly number[],
  quick: boolean,
  command: string,
): Reproduction {
  const shape = quick ? SIZING_QUICK : SIZING;
  const rows = withProgress((onRun) => sizingStudy({ ...shape, seeds, onRun }));
  const { hosts, load } = shape;
  return {
    markdown: sizingReport(rows, { command, seeds: seeds.length, hosts, load }),
    figures: { rows },
    missed: sizingMissed(rows),
  };
}

function reproduceFaasrm(quick: boolean, seeds: readonly number[], command: string): Reproduction {
  const figures = withProgress((onRun) => runFaasrm(quick, seeds, onRun));
  const { published, corrected } = figures;
  return {
    markdown: faasrmReport(published, corrected, command),
    figures,
    missed: faasrmMisses(corrected),
  };
}

interface SimppoOptions extends ReproduceOptions {
  readonly seeds?: number;
  readonly only?: string;
  readonly minutes?: number;
}

/** Reports the pieces run so far; the others count as missed. */
function reproduceSimppo(options: SimppoOptions, command: string): Reproduction {
  const { quick, seeds, out, only, minutes } = options;
  const whole = quick ? QUICK : FULL;
  const size =
    seeds === undefined
      ? whole
      : { ...whole, seeds: Array.from({ length: seeds }, (_, i) => i + 1) };
  const progress = stderrProgress();
  try {
    const folder = join(out, quick ? 'simppo-quick' : 'simppo');
    const onProgress = (share: number, key: string): void => progress.update(share, key);
    const { store, missing } = runStudy({ size, folder, only, minutes, onProgress });
    return {
      markdown: simppoReport(store, size, command),
      figures: simppoFigures(store, size),
      missed: [...simppoMissed(store, size), ...missing.map((key) => `${key}: not run yet`)],
    };
  } finally {
    progress.end();
  }
}

/** The constants of the estimate were chosen with smaller seeds. */
const PAYLOAD_FIRST_SEED = 11;
const PAYLOAD_SEEDS = 5;
const PAYLOAD = { loads: [0.7, 0.9], calls: 40_000 } as const;
/** A tenth of the functions on a tenth of the hosts, and the ends of the range. */
const PAYLOAD_QUICK = {
  loads: [0.9],
  calls: 5000,
  functions: 100,
  cases: PAYLOAD_CASES.filter(({ correlation }) => correlation === 0 || correlation === 0.95),
} as const;
const PAYLOAD_QUICK_SEEDS = 2;

function reproducePayload(seeds: readonly number[], quick: boolean, command: string): Reproduction {
  const plan = quick ? PAYLOAD_QUICK : PAYLOAD;
  const rows = withProgress((onRun) => payloadStudy({ ...plan, seeds, onRun }));
  return {
    markdown: payloadReport(rows, { command, seeds, calls: plan.calls }),
    figures: { rows },
    missed: payloadMissed(rows),
  };
}

/** Agents of functions with an activation per second reach the phase serving in this time. */
const NEW_FUNCTION = {
  modes: ['weight', 'quota'],
  before: 20,
  after: 240,
  load: 0.7,
  repeats: 2,
} as const;
/** Ends while agents are offline. */
const NEW_FUNCTION_QUICK = {
  ...NEW_FUNCTION,
  modes: ['quota'],
  before: 5,
  after: 30,
  repeats: 2,
} as const;
const NEW_FUNCTION_SEEDS = 5;

function reproduceNewFunction(
  seeds: readonly number[],
  quick: boolean,
  command: string,
): Reproduction {
  const request = { ...(quick ? NEW_FUNCTION_QUICK : NEW_FUNCTION), seeds };
  const runs = withProgress((onRun) => newFunctionStudy({ ...request, onRun }));
  return {
    markdown: newFunctionReport(runs, request, command),
    figures: { runs, tables: newFunctionTables(runs) },
    missed: newFunctionMissed(runs),
  };
}

interface SeededStudy {
  readonly name: string;
  readonly description: string;
  readonly firstSeed?: number;
  readonly seeds: number;
  readonly quickSeeds: number;
  run(options: {
    readonly seeds: readonly number[];
    readonly quick: boolean;
    readonly command: string;
  }): Reproduction;
}

const STUDIES: readonly SeededStudy[] = [
  {
    name: 'concurrency',
    description:
      "Schuler's Q-learning of the concurrency limit on response surfaces, with a constant " +
      'limit and hill climbing (15 s)',
    seeds: SEEDS,
    quickSeeds: QUICK_SEEDS,
    run: ({ seeds, quick, command }) =>
      reproduceConcurrency(seeds, quick ? STARTS.slice(0, 1) : STARTS, command),
  },
  {
    name: 'right-sizing',
    description:
      'cold starts, response time and OOM kills before and after right-sizing, on the held-out ' +
      'half hour of the Azure sample (5 min; --quick: 10 s)',
    seeds: SIZING_SEEDS,
    quickSeeds: SIZING_QUICK_SEEDS,
    run: ({ seeds, quick, command }) => reproduceRightSizing(seeds, quick, command),
  },
  {
    name: 'payload',
    description:
      'short-first with and without payload sizes as predictors of CPU time, on held-out seeds ' +
      '(3 min; --quick: 10 s)',
    firstSeed: PAYLOAD_FIRST_SEED,
    seeds: PAYLOAD_SEEDS,
    quickSeeds: PAYLOAD_QUICK_SEEDS,
    run: ({ seeds, quick, command }) => reproducePayload(seeds, quick, command),
  },
  {
    name: 'new-function',
    description:
      'slowdown of a new function while its agent learns: aware, simppo and the fallback alone ' +
      '(10 min; --quick: 10 s)',
    seeds: NEW_FUNCTION_SEEDS,
    quickSeeds: 1,
    run: ({ seeds, quick, command }) => reproduceNewFunction(seeds, quick, command),
  },
  {
    name: 'faasrm',
    description:
      "FaaSRM's learned choice with the published simulator's rules and on the cluster model, " +
      'with fixed, greedy, ensure, libra and lower bounds (10 min; --quick: 10 s)',
    seeds: FAASRM_SEEDS,
    quickSeeds: FAASRM_QUICK_SEEDS,
    run: ({ seeds, quick, command }) => reproduceFaasrm(quick, seeds, command),
  },
];

/** The command that repeats a study. */
const commandOf = (
  name: string,
  quick: boolean,
  options: Readonly<Record<string, string | number | undefined>>,
): string =>
  [
    `gleaner reproduce ${name}`,
    ...(quick ? ['--quick'] : []),
    ...Object.entries(options).flatMap(([option, value]) =>
      value ? [`--${option} ${value}`] : [],
    ),
  ].join(' ');

export function addReproduce(program: Command): void {
  const reproduce = program
    .command('reproduce')
    .description('reproduce the studies behind published results, and compare with their figures');
  for (const { name, description, firstSeed = 1, seeds: most, quickSeeds, run } of STUDIES)
    addStudy(reproduce, name, `${description}; exit code 1 if a goal is missed`)
      .option(
        '--seeds <n>',
        `number of seeds (default ${most}; with --quick ${quickSeeds})`,
        wholeNumber,
      )
      .option('--first-seed <n>', `first seed (default ${firstSeed})`, wholeNumber)
      .action(
        (options: ReproduceOptions & { readonly seeds?: number; readonly firstSeed?: number }) => {
          const {
            quick,
            seeds: count = quick ? quickSeeds : most,
            firstSeed: first = firstSeed,
          } = options;
          const command = commandOf(name, quick, {
            seeds: options.seeds,
            'first-seed': options.firstSeed,
          });
          deliver(
            name,
            run({ seeds: Array.from({ length: count }, (_, i) => first + i), quick, command }),
            options,
          );
        },
      );
  addStudy(
    reproduce,
    'simppo',
    "SIMPPO's autoscaling protocol: agents, isolated agents, single agents and rules on held-out " +
      'traces, growth to 110 functions (1 h; --quick: 3 min); continues a stopped run; ' +
      'exit code 1 if a goal is missed',
  )
    .option(
      '--seeds <n>',
      `number of seeds (default ${FULL.seeds.length}; with --quick ${QUICK.seeds.length})`,
      wholeNumber,
    )
    .option('--only <piece>', 'only pieces with this prefix: floors, simppo-0.8, growth')
    .option('--minutes <n>', 'start no piece after this time; run again to continue', wholeNumber)
    .action((options: SimppoOptions) => {
      const { quick, seeds } = options;
      deliver('simppo', reproduceSimppo(options, commandOf('simppo', quick, { seeds })), options);
    });
  addStudy(
    reproduce,
    'aware',
    "AWARE's life cycle and meta-learner on the held-out applications, with TL, TL+, HPA+VPA, " +
      'KPA and behavior cloning (30 min on two cores; --quick: 1 min); continues a stopped run; ' +
      'exit code 1 if a goal is missed',
  )
    .option('--meta <folder>', 'meta-learner to use instead of the shipped one')
    .option(
      '--workers <n>',
      'threads, without effect on results (default: one per core)',
      wholeNumber,
    )
    .action(
      async (options: ReproduceOptions & { readonly meta?: string; readonly workers?: number }) => {
        const { quick, meta, out, workers = availableParallelism() } = options;
        const command = commandOf('aware', quick, { meta });
        deliver(
          'aware',
          await reproduceAware({ quick, meta, workers, folder: out, command }),
          options,
        );
      },
    );
}
