import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { concurrencyStudy, studyVerdicts } from '../../simulator/index.js';
import { EXIT } from '../exit.js';
import { json, processScreen } from '../output.js';
import { concurrencyReport } from '../reproduce/concurrency.js';
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
function deliver(name: string, { markdown, figures, missed }: Reproduction, { out, output }: ReproduceOptions): void {
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

function reproduceConcurrency(seeds: number, starts: readonly number[], command: string): Reproduction {
  const rows = concurrencyStudy({ seeds: Array.from({ length: seeds }, (_, i) => i + 1), starts });
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

export function addReproduce(program: Command): void {
  const reproduce = program.command('reproduce').description('published results, run again: ours beside theirs');
  addStudy(
    reproduce,
    'concurrency',
    "Schuler's Q-learning of the concurrency limit on response surfaces, beside a constant limit and hill climbing (a quarter of a minute); exits with 1 where a goal is missed",
  )
    .option('--seeds <n>', `so many seeds, from 1 on (default ${SEEDS}; with --quick ${QUICK_SEEDS})`, wholeNumber)
    .action((options: ReproduceOptions & { readonly seeds?: number }) => {
      const { quick, seeds = quick ? QUICK_SEEDS : SEEDS } = options;
      const command = `gleaner reproduce concurrency${quick ? ' --quick' : ''}${options.seeds ? ` --seeds ${seeds}` : ''}`;
      deliver('concurrency', reproduceConcurrency(seeds, quick ? STARTS.slice(0, 1) : STARTS, command), options);
    });
}
