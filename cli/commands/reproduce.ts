import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { EXIT } from '../../config/index.js';
import { FIRST_SEED, reproduceAware } from '../../experiments/aware/index.js';
import { concurrencyReproduction } from '../../experiments/concurrency/index.js';
import { faasrmReproduction } from '../../experiments/faasrm/index.js';
import { marketReproduction } from '../../experiments/market/index.js';
import { memoryPressureReproduction } from '../../experiments/memory-pressure/index.js';
import { newFunctionReproduction } from '../../experiments/new-function/index.js';
import { payloadReproduction } from '../../experiments/payload/index.js';
import {
  decidedMisses,
  type Reproduction,
  type SeededStudy,
} from '../../experiments/reproduction.js';
import { rightSizingReproduction } from '../../experiments/right-sizing/index.js';
import { FULL, QUICK, reproduceSimppo } from '../../experiments/simppo/index.js';
import { MIN_SEEDS } from '../../experiments/statistics.js';
import { stderrProgress } from '../../runtime/index.js';
import {
  addOutputOption,
  makeOutputFolder,
  type OutputOptions,
  print,
  wholeNumber,
} from './common.js';

interface ReproduceOptions extends OutputOptions {
  readonly out: string;
  readonly quick: boolean;
}

const SEEDED: readonly SeededStudy[] = [
  concurrencyReproduction,
  rightSizingReproduction,
  memoryPressureReproduction,
  payloadReproduction,
  marketReproduction,
  newFunctionReproduction,
  faasrmReproduction,
];

/** Prints a reproduction, then writes `<name>.md`. */
function deliver(
  name: string,
  { markdown, figures, missed }: Reproduction,
  { out, output }: ReproduceOptions,
): void {
  print(output, figures, () => markdown);
  writeFileSync(join(out, `${name}.md`), markdown);
  for (const text of missed) process.stderr.write(`gleaner: missed: ${text}\n`);
  process.exitCode = missed.length > 0 ? EXIT.failed : EXIT.ok;
}

const addStudy = (reproduce: Command, name: string, description: string): Command =>
  addOutputOption(
    reproduce
      .command(name)
      .description(
        `${description}; exit code 1 if a goal is missed, which takes ${MIN_SEEDS} seeds to decide`,
      )
      .option('--quick', 'a small version of the study', false)
      .option('--out <folder>', `folder of the page`, 'gleaner-reproduction'),
  );

const addSeeds = (command: Command, seeds: number, quickSeeds: number, first: number): Command =>
  command
    .option(
      '--seeds <n>',
      `number of seeds (default ${seeds}; with --quick ${quickSeeds})`,
      wholeNumber,
    )
    .option('--first-seed <n>', `first seed (default ${first})`, wholeNumber);

const addWorkers = (command: Command): Command =>
  command.option(
    '--workers <n>',
    'threads, without effect on results (default: one per core)',
    wholeNumber,
  );

/** The command that repeats a study. */
const commandOf = (
  name: string,
  quick: boolean,
  options: Readonly<Record<string, string | number | boolean | undefined>>,
): string =>
  [
    `gleaner reproduce ${name}`,
    ...(quick ? ['--quick'] : []),
    ...Object.entries(options).flatMap(([option, value]) =>
      value ? [value === true ? `--${option}` : `--${option} ${value}`] : [],
    ),
  ].join(' ');

interface SeedOptions extends ReproduceOptions {
  readonly seeds?: number;
  readonly firstSeed?: number;
}

interface SimppoOptions extends SeedOptions {
  readonly all: boolean;
  readonly only?: string;
  readonly minutes?: number;
  readonly workers?: number;
}

interface AwareOptions extends ReproduceOptions {
  readonly firstSeed?: number;
  readonly meta?: string;
  readonly workers?: number;
}

function runSeeded(study: SeededStudy, options: SeedOptions): void {
  const { quick } = options;
  const first = options.firstSeed ?? study.firstSeed;
  const count = options.seeds ?? (quick ? study.quickSeeds : study.seeds);
  const progress = stderrProgress();
  try {
    const reproduction = study.run({
      seeds: Array.from({ length: count }, (_, i) => first + i),
      quick,
      command: commandOf(study.name, quick, {
        seeds: options.seeds,
        'first-seed': options.firstSeed,
      }),
      onRun: (done, all) => progress.update(done / all, `${done} of ${all} runs`),
    });
    const missed = decidedMisses(reproduction.missed, count);
    deliver(study.name, { ...reproduction, missed }, options);
  } finally {
    progress.end();
  }
}

export function addCommands(program: Command): void {
  const reproduce = program
    .command('reproduce')
    .description('reproduce the studies behind published results, and compare with their figures')
    .hook('preAction', (_, study) => makeOutputFolder(study.opts<ReproduceOptions>().out));
  for (const study of SEEDED)
    addSeeds(
      addStudy(reproduce, study.name, study.description),
      study.seeds,
      study.quickSeeds,
      study.firstSeed,
    ).action((options: SeedOptions) => runSeeded(study, options));
  addWorkers(
    addSeeds(
      addStudy(
        reproduce,
        'simppo',
        "SIMPPO's autoscaling protocol: agents with and without virtual agent and price, and " +
          'rules, on held-out traces, seeds 1-5 and 11-15 apart (30 min on two cores; --quick: ' +
          '2 min); continues a stopped run',
      ),
      FULL.seeds.length,
      QUICK.seeds.length,
      FULL.seeds[0]!,
    ),
  )
    .option('--all', 'also what each part contributes, and growth to 110 functions (hours)', false)
    .option('--only <piece>', 'only pieces with this prefix: floors, simppo-0.8, growth')
    .option('--minutes <n>', 'start no piece after this time; run again to continue', wholeNumber)
    .action(async (options: SimppoOptions) => {
      const { all, quick, seeds, firstSeed, out: folder } = options;
      const { workers = availableParallelism() } = options;
      const command = commandOf('simppo', quick, { all, seeds, 'first-seed': firstSeed });
      deliver('simppo', await reproduceSimppo({ ...options, workers, folder, command }), options);
    });
  addWorkers(
    addStudy(
      reproduce,
      'aware',
      "AWARE's life cycle and meta-learner on the held-out applications, with TL, TL+, HPA+VPA, " +
        'KPA and behavior cloning (5 min on two cores; --quick: 1 min); continues a stopped run',
    ),
  )
    .option('--first-seed <n>', `first seed (default ${FIRST_SEED})`, wholeNumber)
    .option('--meta <folder>', 'meta-learner to use instead of the shipped one')
    .action(async (options: AwareOptions) => {
      const { quick, meta, out: folder, workers = availableParallelism() } = options;
      const command = commandOf('aware', quick, { 'first-seed': options.firstSeed, meta });
      const firstSeed = options.firstSeed ?? FIRST_SEED;
      const run = { quick, firstSeed, meta, workers, folder, command };
      deliver('aware', await reproduceAware(run), options);
    });
}
