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
import { addOutputOption, type OutputOptions } from './common.js';
import { wholeNumber } from './simulation-options.js';

interface ReproduceOptions extends OutputOptions {
  readonly out: string;
  readonly quick: boolean;
}

/** What one reproduction hands back, whichever it is. */
interface Reproduction {
  readonly markdown: string;
  readonly figures: unknown;
  /** What was asked and not reached; empty where all was. */
  readonly missed: readonly string[];
}

/** Prints a reproduction and keeps `<name>.md`. Each of `gleaner reproduce` ends here. */
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

const addStudy = (reproduce: Command, name: string, description: string): Command =>
  addOutputOption(
    reproduce
      .command(name)
      .description(description)
      .option('--quick', 'less of it, for a look', false)
      .option('--out <folder>', `where ${name}.md goes`, 'gleaner-reproduction'),
  );

/** Limits that tuners begin at: Knative's default, and the far end. */
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

/**
 * Thirty hosts of eight cores, from scarce to nearly ample; `quick`: a fifth of it. Load .25 is
 * that of the sample as recorded.
 */
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
  const progress = stderrProgress();
  const shape = quick ? SIZING_QUICK : SIZING;
  try {
    const rows = sizingStudy({
      ...shape,
      seeds,
      onRun: (done, all) => progress.update(done / all, `${done} of ${all} runs`),
    });
    return {
      markdown: sizingReport(rows, {
        command,
        seeds: seeds.length,
        hosts: shape.hosts,
        load: shape.load,
      }),
      figures: { rows },
      missed: sizingMissed(rows),
    };
  } finally {
    progress.end();
  }
}

function reproduceFaasrm(quick: boolean, seeds: readonly number[], command: string): Reproduction {
  const progress = stderrProgress();
  try {
    const figures = runFaasrm(quick, seeds, (done, all) =>
      progress.update(done / all, `${done} of ${all} runs`),
    );
    const { published, corrected } = figures;
    return {
      markdown: faasrmReport(published, corrected, command),
      figures,
      missed: faasrmMisses(corrected),
    };
  } finally {
    progress.end();
  }
}

interface SimppoOptions extends ReproduceOptions {
  readonly seeds?: number;
  readonly only?: string;
  readonly minutes?: number;
}

/** What is there of the study after this run; what was not run yet is missed. */
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

/** Seeds that the estimate's constants were not looked at with. */
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
  const progress = stderrProgress();
  const plan = quick ? PAYLOAD_QUICK : PAYLOAD;
  try {
    const onRun = (done: number, all: number): void =>
      progress.update(done / all, `${done} of ${all} pairs`);
    const rows = payloadStudy({ ...plan, seeds, onRun });
    return {
      markdown: payloadReport(rows, { command, seeds, calls: plan.calls }),
      figures: { rows },
      missed: payloadMissed(rows),
    };
  } finally {
    progress.end();
  }
}

/**
 * One host, for as long as agents of functions that are called every second or so need to serve.
 */
const NEW_FUNCTION = {
  modes: ['weight', 'quota'],
  before: 20,
  after: 240,
  load: 0.7,
  repeats: 2,
} as const;
/** As far as agents are watching still. */
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
  const progress = stderrProgress();
  const request = { ...(quick ? NEW_FUNCTION_QUICK : NEW_FUNCTION), seeds };
  try {
    const onRun = (done: number, all: number): void =>
      progress.update(done / all, `${done} of ${all} runs`);
    const runs = newFunctionStudy({ ...request, onRun });
    return {
      markdown: newFunctionReport(runs, request, command),
      figures: { runs, tables: newFunctionTables(runs) },
      missed: newFunctionMissed(runs),
    };
  } finally {
    progress.end();
  }
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
      "Schuler's Q-learning of the concurrency limit on response surfaces, beside a constant limit and hill climbing (a quarter of a minute)",
    seeds: SEEDS,
    quickSeeds: QUICK_SEEDS,
    run: ({ seeds, quick, command }) =>
      reproduceConcurrency(seeds, quick ? STARTS.slice(0, 1) : STARTS, command),
  },
  {
    name: 'right-sizing',
    description:
      'cold starts, response and OOM kills before and after smaller action sizes, on the held-out half hour of the Azure sample (five minutes; --quick: ten seconds)',
    seeds: SIZING_SEEDS,
    quickSeeds: SIZING_QUICK_SEEDS,
    run: ({ seeds, quick, command }) => reproduceRightSizing(seeds, quick, command),
  },
  {
    name: 'payload',
    description:
      'short-first with and without what the size of a call says of its CPU time, on held-out seeds (three minutes; --quick: ten seconds)',
    firstSeed: PAYLOAD_FIRST_SEED,
    seeds: PAYLOAD_SEEDS,
    quickSeeds: PAYLOAD_QUICK_SEEDS,
    run: ({ seeds, quick, command }) => reproducePayload(seeds, quick, command),
  },
  {
    name: 'new-function',
    description:
      'what a function that is added to a running system pays while its agent learns: aware, simppo and the fallback alone (ten minutes; --quick: ten seconds)',
    seeds: NEW_FUNCTION_SEEDS,
    quickSeeds: 1,
    run: ({ seeds, quick, command }) => reproduceNewFunction(seeds, quick, command),
  },
  {
    name: 'faasrm',
    description:
      "FaaSRM's learned choice by the published simulator's rules and on the cluster model, beside fixed, greedy, ensure, libra and the floors (ten minutes; --quick: ten seconds)",
    seeds: FAASRM_SEEDS,
    quickSeeds: FAASRM_QUICK_SEEDS,
    run: ({ seeds, quick, command }) => reproduceFaasrm(quick, seeds, command),
  },
];

export function addReproduce(program: Command): void {
  const reproduce = program
    .command('reproduce')
    .description('run the studies behind published results again: ours beside theirs');
  for (const { name, description, firstSeed = 1, seeds: most, quickSeeds, run } of STUDIES)
    addStudy(reproduce, name, `${description}; exits with 1 where a goal is missed`)
      .option(
        '--seeds <n>',
        `so many seeds (default ${most}; with --quick ${quickSeeds})`,
        wholeNumber,
      )
      .option('--first-seed <n>', `the first of them (default ${firstSeed})`, wholeNumber)
      .action(
        (options: ReproduceOptions & { readonly seeds?: number; readonly firstSeed?: number }) => {
          const {
            quick,
            seeds: count = quick ? quickSeeds : most,
            firstSeed: first = firstSeed,
          } = options;
          const said = (option: string, value: number | undefined): string =>
            value ? ` --${option} ${value}` : '';
          const command = `gleaner reproduce ${name}${quick ? ' --quick' : ''}${said('seeds', options.seeds)}${said('first-seed', options.firstSeed)}`;
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
    "SIMPPO's autoscaling protocol: agents, isolated agents, single agents and rules on held-out traces, growth to 110 functions (an hour; --quick: three minutes); goes on where it was stopped; exits with 1 where a goal is missed",
  )
    .option(
      '--seeds <n>',
      `so many seeds, from 1 on (default ${FULL.seeds.length}; with --quick ${QUICK.seeds.length})`,
      wholeNumber,
    )
    .option('--only <piece>', 'only pieces whose name begins so: floors, simppo-0.8, growth')
    .option('--minutes <n>', 'begins no piece after so long; run it again to go on', wholeNumber)
    .action((options: SimppoOptions) => {
      const { quick, seeds } = options;
      const command = `gleaner reproduce simppo${quick ? ' --quick' : ''}${seeds ? ` --seeds ${seeds}` : ''}`;
      deliver('simppo', reproduceSimppo(options, command), options);
    });
  addStudy(
    reproduce,
    'aware',
    "AWARE's life cycle and meta-learner on the held-out applications, beside TL, TL+, HPA+VPA, KPA and behavior cloning (half an hour of two cores; --quick: a minute); goes on where it was stopped; exits with 1 where a goal is missed",
  )
    .option('--meta <folder>', 'another meta-learner than the shipped one')
    .option(
      '--workers <n>',
      'threads; changes nothing but the time (default: one a core)',
      wholeNumber,
    )
    .action(
      async (options: ReproduceOptions & { readonly meta?: string; readonly workers?: number }) => {
        const { quick, meta, out, workers = availableParallelism() } = options;
        const command = `gleaner reproduce aware${quick ? ' --quick' : ''}${meta === undefined ? '' : ` --meta ${meta}`}`;
        deliver(
          'aware',
          await reproduceAware({ quick, meta, workers, folder: out, command }),
          options,
        );
      },
    );
}
