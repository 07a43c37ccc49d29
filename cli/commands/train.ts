import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import {
  expectedPolicy,
  type LearnerState,
  loadCheckpoint,
  policyCheckpoint,
  policyState,
  SIMPPO_NAMES,
  type SimppoName,
  saveCheckpoint,
} from '../../agents/index.js';
import type { ClusterMode } from '../../simulator/index.js';
import { processScreen } from '../output.js';
import { stderrProgress } from '../progress.js';
import { type EpisodeResult, type Place, type TrainingPlan, train, trainingSettings } from '../train/training.js';
import {
  addHostOptions,
  checkHosts,
  type HostOptions,
  listOf,
  offeredLoad,
  wholeNumber,
} from './simulation-options.js';

interface TrainOptions extends HostOptions {
  readonly manager: SimppoName;
  readonly workloads: Place[];
  readonly modes: ClusterMode[];
  readonly loads: number[];
  readonly episodes: number;
  readonly seed: number;
  readonly resume?: boolean;
  readonly out: string;
}

const MEMORY = { memory: 131_072, userMemory: 98_304 } as const;
const CURVE = 'learning-curve.csv';
const COLUMNS = [
  'episode',
  'setting',
  'seed',
  'steps',
  'reward',
  'updates',
  'entropy',
  'divergence',
  'explainedVariance',
] as const satisfies readonly (keyof EpisodeResult)[];
/** A power cut costs so many episodes. */
const SAVED_EVERY = 10;

const place =
  (hosts: number) =>
  (text: string): Place => {
    const [, workload, count] = /^(.+)@([1-9]\d{0,3})$/.exec(text) ?? [];
    return workload === undefined ? { workload: text, hosts } : { workload, hosts: Number(count) };
  };

export function addTrain(program: Command): void {
  const command = program
    .command('train')
    .description('trains a base policy on the simulated cluster; the part `train` of each workload, an episode a run')
    .addOption(new Option('--manager <name>', 'who learns').choices([...SIMPPO_NAMES]).default('simppo'))
    .option('--workloads <names>', 'by commas; name@2 is on two hosts', listOf(place(1)), [
      { workload: 'profiles-12', hosts: 1 },
    ])
    .addOption(
      new Option('--modes <list>', 'weight, quota')
        .argParser(listOf((text) => text as ClusterMode))
        .default(['weight', 'quota']),
    )
    .option('--loads <list>', 'offered loads', listOf(offeredLoad), [0.7, 0.8, 0.9])
    .option('--episodes <n>', 'runs, each with a seed of its own', wholeNumber, 180)
    .option('--seed <n>', 'of the first episode; comparisons use small ones', wholeNumber, 10_001)
    .option('--resume', 'go on from what is in --out');
  addHostOptions(command, 'invoker hosts, where a workload does not name its own', MEMORY)
    .option('--out <folder>', 'where the checkpoint and the learning curve go', 'gleaner-policy')
    .action(async (options: TrainOptions) => {
      checkHosts(options);
      await run(options);
    });
}

async function run(options: TrainOptions): Promise<void> {
  const { manager, episodes, seed, out } = options;
  const settings = trainingSettings(manager, episodes);
  mkdirSync(out, { recursive: true });
  const resume = options.resume === true ? await resumed(out, options) : null;
  const curve = join(out, CURVE);
  if (resume === null) writeFileSync(curve, `${COLUMNS.join(',')}\n`);
  const plan: TrainingPlan = {
    ...options,
    places: options.workloads,
    part: 'train',
    memoryMiB: options.memory,
    userMemoryMiB: options.userMemory,
    resume,
  };
  const progress = stderrProgress();
  const save = async (state: LearnerState, episode: number): Promise<void> => {
    const checkpoint = policyCheckpoint(state, settings, seed);
    await saveCheckpoint(out, { ...checkpoint, counters: { ...checkpoint.counters, episodes: episode } });
  };
  const recent: EpisodeResult[] = [];
  try {
    for (const { result, state } of train(plan)) {
      writeFileSync(curve, `${COLUMNS.map((key) => csv(result[key])).join(',')}\n`, { flag: 'a' });
      recent.push(result);
      if (recent.length > SAVED_EVERY) recent.shift();
      const done = result.episode + 1;
      const reward = recent.reduce((sum, one) => sum + one.reward, 0) / recent.length;
      progress.update(done / episodes, `${done} of ${episodes} episodes, reward ${reward.toFixed(3)}`);
      if (done % SAVED_EVERY === 0 || done === episodes) await save(state, done);
    }
  } finally {
    progress.end();
  }
  const last = recent.at(-1);
  if (last !== undefined)
    processScreen.write(
      `${last.updates} updates; reward per step of the last ${recent.length} episodes: ${recent.map(({ reward }) => reward.toFixed(3)).join(' ')}\n${out}\n`,
    );
}

async function resumed(out: string, { manager, episodes }: TrainOptions): Promise<TrainingPlan['resume']> {
  if (!existsSync(join(out, 'model.json'))) return null;
  const checkpoint = await loadCheckpoint(out, expectedPolicy(trainingSettings(manager, episodes)));
  return { state: policyState(out, checkpoint), episode: checkpoint.counters.episodes ?? 0 };
}

const csv = (value: number | string): string =>
  typeof value === 'number' ? String(Number(value.toPrecision(6))) : value;
