import type { Command } from 'commander';
import { metaTraining, trainInThread, withoutEmbedding } from '../../experiments/aware/index.js';
import { processScreen, stderrProgress } from '../../runtime/index.js';
import { makeOutputFolder, wholeNumber } from './common.js';

interface TrainMetaOptions {
  readonly rounds: number;
  readonly baseRounds: number;
  readonly seed: number;
  readonly withoutEmbedding: boolean;
  readonly out: string;
}

/** Weight of the newest round in the displayed mean. */
const SMOOTHING = 0.05;

export function addCommands(program: Command): void {
  program
    .command('train-meta')
    .description(
      "train AWARE's meta-learner and base-learner on the 800 applications that are not held out " +
        '(8 minutes on one core)',
    )
    .option('--rounds <n>', 'rounds of both learners', wholeNumber, metaTraining.rounds)
    .option(
      '--base-rounds <n>',
      'further rounds of the base-learner',
      wholeNumber,
      metaTraining.baseRounds,
    )
    .option('--seed <n>', 'seed of weights and samples', wholeNumber, metaTraining.seed)
    .option(
      '--without-embedding',
      'train the base-learner alone, in all rounds, on no embedding',
      false,
    )
    .option('--out <folder>', 'folder of meta.json and the weights', 'gleaner-meta')
    .action(async ({ out, withoutEmbedding: alone, ...asked }: TrainMetaOptions) => {
      makeOutputFolder(out);
      const progress = stderrProgress();
      let earned = Number.NaN;
      const { rounds: both, baseRounds: further, seed } = asked;
      const whole = { ...metaTraining, rounds: both, baseRounds: further, seed };
      const training = alone ? withoutEmbedding(whole) : whole;
      const { rounds, baseRounds } = training;
      await trainInThread({ folder: out, training }, ({ round, earned: now }) => {
        earned = Number.isNaN(earned) ? now : earned + SMOOTHING * (now - earned);
        progress.update(
          (round + 1) / (rounds + baseRounds),
          `reward per step ${earned.toFixed(3)}`,
        );
      });
      progress.end();
      processScreen.write(
        `${out}: ${rounds} + ${baseRounds} rounds, reward per step ${earned.toFixed(3)}\n`,
      );
    });
}
