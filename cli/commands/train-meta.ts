import type { Command } from 'commander';
import { metaTraining, trainInThread } from '../../experiments/aware/index.js';
import { processScreen, stderrProgress } from '../../runtime/index.js';
import { wholeNumber } from './simulation-options.js';

interface TrainMetaOptions {
  readonly rounds: number;
  readonly baseRounds: number;
  readonly seed: number;
  readonly out: string;
}

/** Weight of the newest round in what is shown. */
const SMOOTHING = 0.05;

export function addTrainMeta(program: Command): void {
  program
    .command('train-meta')
    .description(
      "train AWARE's meta-learner with its base-learner on the 800 composed applications that are not held out (some 8 minutes on one core)",
    )
    .option('--rounds <n>', 'rounds of both', wholeNumber, metaTraining.rounds)
    .option(
      '--base-rounds <n>',
      'rounds of the base-learner after them',
      wholeNumber,
      metaTraining.baseRounds,
    )
    .option('--seed <n>', 'of weights and draws', wholeNumber, metaTraining.seed)
    .option('--out <folder>', 'where meta.json and the weights go', 'gleaner-meta')
    .action(async ({ rounds, baseRounds, seed, out }: TrainMetaOptions) => {
      const progress = stderrProgress();
      let earned = Number.NaN;
      const training = { ...metaTraining, rounds, baseRounds, seed };
      await trainInThread({ folder: out, training }, ({ round, earned: now }) => {
        earned = Number.isNaN(earned) ? now : earned + SMOOTHING * (now - earned);
        progress.update((round + 1) / (rounds + baseRounds), `reward a step ${earned.toFixed(3)}`);
      });
      progress.end();
      processScreen.write(
        `${out}: ${rounds} + ${baseRounds} rounds, reward a step ${earned.toFixed(3)}\n`,
      );
    });
}
