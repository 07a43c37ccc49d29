import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { expectedFaasrm, faasrmCheckpoint, faasrmState } from '../../agents/faasrm/index.js';
import {
  type Checkpoint,
  type Expected,
  loadCheckpoint,
  saveCheckpoint,
} from '../../agents/nn/index.js';
import type { LearnerState } from '../../agents/ppo/index.js';
import {
  expectedPolicy,
  policyCheckpoint,
  policyState,
  SIMPPO_NAMES,
  type SimppoName,
  type SimppoSettings,
  settingsOf,
  widenPolicy,
} from '../../agents/simppo/index.js';
import { UsageError } from '../../config/index.js';
import { placeOf } from '../../experiments/compare/index.js';
import {
  type EpisodeResult,
  type FaasrmPlan,
  faasrmTrainingSettings,
  type Place,
  train,
  trainFaasrm,
  trainingSettings,
} from '../../experiments/training/index.js';
import type { GlobalOptions } from '../../runtime/index.js';
import { processScreen, stderrProgress } from '../../runtime/index.js';
import type { ClusterMode } from '../../simulator/engine/index.js';
import { simulationSettings, warnIgnored } from '../simulation-settings.js';
import { globalOptions, wholeNumber } from './common.js';
import {
  addHostOptions,
  type HostOptions,
  hostOptions,
  hostsOf,
  LARGE_HOSTS,
  listOf,
  offeredLoad,
} from './simulation-options.js';

const FAASRM = 'faasrm';
/** Rules of the published simulator; only `faasrm` learns with them. */
const PUBLISHED = 'freyr-2021';
type TrainMode = ClusterMode | typeof PUBLISHED;

interface TrainOptions extends HostOptions, GlobalOptions {
  readonly manager: SimppoName | typeof FAASRM;
  readonly workloads?: Place[];
  readonly modes?: TrainMode[];
  readonly loads: number[];
  readonly episodes: number;
  readonly seed: number;
  readonly initialCheckpoint?: string;
  readonly resume?: boolean;
  readonly out: string;
}

const PROFILES: Place = { workload: 'profiles-12', hosts: 1 };
const CURVE = 'learning-curve.csv';
const COLUMNS = [
  'episode',
  'setting',
  'seed',
  'steps',
  'reward',
  'updates',
  'entropy',
  'approxKl',
  'explainedVariance',
] as const satisfies readonly (keyof EpisodeResult)[];
/** Episodes between saves. */
const SAVED_EVERY = 10;

const place =
  (hosts: number) =>
  (text: string): Place => {
    const place = placeOf(text);
    return { workload: place.workload, hosts: place.hosts ?? hosts };
  };

export function addTrain(program: Command): void {
  const command = program
    .command('train')
    .description(
      'train a base policy on the simulated cluster, with the part `train` of each workload',
    )
    .addOption(
      new Option('--manager <name>', 'learning manager, or the policy faasrm')
        .choices([...SIMPPO_NAMES, FAASRM])
        .default('simppo'),
    )
    .option(
      '--workloads <names>',
      'comma-separated; name@2: on two hosts (default profiles-12, with profiles-12-slos ' +
        'unless faasrm)',
      listOf(place(1)),
    )
    .addOption(
      new Option(
        '--modes <list>',
        'weight, quota (default weight), each with its own policy; ' +
          'faasrm: quota (default) or freyr-2021',
      ).argParser(listOf(trainMode)),
    )
    .option('--loads <list>', 'offered loads', listOf(offeredLoad), [0.7, 0.8, 0.9])
    .option('--episodes <n>', 'runs, each with its own seed', wholeNumber, 180)
    .option(
      '--seed <n>',
      'seed of the first episode; comparisons use small seeds',
      wholeNumber,
      10_001,
    )
    .option(
      '--begin-with <folder>',
      'policy of `single-agent` for the same mode, which `simppo` extends and refines',
    )
    .option('--resume', 'continue the training in --out');
  addHostOptions(command, LARGE_HOSTS)
    .option('--out <folder>', 'folder of checkpoint and learning curve', 'gleaner-policy')
    .action(async (own: TrainOptions, self: Command) => {
      await run({ ...own, ...globalOptions(self) });
    });
}

function trainMode(text: string): TrainMode {
  if (text === 'weight' || text === 'quota' || text === PUBLISHED) return text;
  throw new InvalidArgumentError(`must be one of weight, quota, ${PUBLISHED}`);
}

/** One training: its episodes and its checkpoints. */
interface TrainingRun {
  readonly expected: Expected;
  /** State before the first episode; null: new weights. */
  begin(): Promise<LearnerState | null>;
  state(where: string, checkpoint: Checkpoint): LearnerState;
  checkpoint(state: LearnerState): Checkpoint;
  run(
    resume: Resume | null,
  ): Iterable<{ readonly result: EpisodeResult; readonly state: LearnerState }>;
}

interface Resume {
  readonly state: LearnerState;
  readonly episode: number;
}

function trainingRunOf(options: TrainOptions): TrainingRun {
  const { manager, episodes, seed, loads } = options;
  const places =
    options.workloads ??
    (manager === FAASRM ? [PROFILES] : [PROFILES, { ...PROFILES, workload: 'profiles-12-slos' }]);
  const { settings: simulated, configured, ignored } = simulationSettings(options);
  warnIgnored(configured === undefined ? ignored : [...ignored, 'agents.manager, decision.policy']);
  for (const { workload } of places) hostsOf(workload, options, LARGE_HOSTS);
  const hosts = { said: hostOptions(options), otherwise: LARGE_HOSTS };
  const place = { part: 'train', hosts, settings: simulated } as const;
  if (manager === FAASRM) {
    const [mode = 'quota', ...others] = options.modes ?? [];
    if (mode === 'weight' || others.length > 0)
      throw new UsageError('faasrm learns in one mode, quota or freyr-2021', {
        hint: `--modes quota, or --modes ${PUBLISHED}`,
      });
    const training: FaasrmPlan['training'] =
      mode === PUBLISHED
        ? { on: PUBLISHED, workload: places[0]!.workload }
        : { on: 'cluster', places, loads, ...place };
    const settings = faasrmTrainingSettings({ training, episodes });
    return {
      expected: expectedFaasrm,
      begin: async () => null,
      state: faasrmState,
      checkpoint: (state) => faasrmCheckpoint(state, settings, seed),
      run: (resume) => trainFaasrm({ training, episodes, seed, resume }),
    };
  }
  const modes = (options.modes ?? ['weight']).map((mode): ClusterMode => {
    if (mode === PUBLISHED)
      throw new UsageError(`${manager} does not learn in mode ${PUBLISHED}`, {
        hint: '--modes weight,quota',
      });
    return mode;
  });
  const refines = options.initialCheckpoint !== undefined;
  const settings = trainingSettings(manager, episodes, refines);
  return {
    expected: expectedPolicy(settings),
    begin: () => begun(options, settings),
    state: policyState,
    checkpoint: (state) => policyCheckpoint(state, settings, seed),
    run: (resume) =>
      train({ manager, places, modes, loads, episodes, seed, refines, resume, ...place }),
  };
}

async function run(options: TrainOptions): Promise<void> {
  const { episodes, out } = options;
  const trainingRun = trainingRunOf(options);
  mkdirSync(out, { recursive: true });
  const resume =
    (options.resume === true ? await resumed(out, trainingRun) : null) ??
    (await fresh(trainingRun));
  const curve = join(out, CURVE);
  if ((resume?.episode ?? 0) === 0) writeFileSync(curve, `${COLUMNS.join(',')}\n`);
  const progress = stderrProgress();
  const save = async (state: LearnerState, episode: number): Promise<void> => {
    const checkpoint = trainingRun.checkpoint(state);
    await saveCheckpoint(out, {
      ...checkpoint,
      counters: { ...checkpoint.counters, episodes: episode },
    });
  };
  const recent: EpisodeResult[] = [];
  try {
    for (const { result, state } of trainingRun.run(resume)) {
      writeFileSync(curve, `${COLUMNS.map((key) => csv(result[key])).join(',')}\n`, { flag: 'a' });
      recent.push(result);
      if (recent.length > SAVED_EVERY) recent.shift();
      const done = result.episode + 1;
      const reward = recent.reduce((sum, one) => sum + one.reward, 0) / recent.length;
      progress.update(
        done / episodes,
        `${done} of ${episodes} episodes, reward ${reward.toFixed(3)}`,
      );
      if (done % SAVED_EVERY === 0 || done === episodes) await save(state, done);
    }
  } finally {
    progress.end();
  }
  const last = recent.at(-1);
  if (last !== undefined) {
    const rewards = recent.map(({ reward }) => reward.toFixed(3)).join(' ');
    processScreen.write(
      `${last.updates} updates; last ${recent.length} rewards per step: ${rewards}\n${out}\n`,
    );
  }
}

async function fresh(trainingRun: TrainingRun): Promise<Resume | null> {
  const state = await trainingRun.begin();
  return state && { state, episode: 0 };
}

async function begun(
  { manager, initialCheckpoint }: TrainOptions,
  settings: SimppoSettings,
): Promise<LearnerState | null> {
  if (initialCheckpoint === undefined) return null;
  const from = manager === 'simppo' ? settingsOf('single-agent') : settings;
  const checkpoint = await loadCheckpoint(initialCheckpoint, expectedPolicy(from));
  return widenPolicy(policyState(initialCheckpoint, checkpoint), from, settings);
}

async function resumed(out: string, { expected, state }: TrainingRun): Promise<Resume | null> {
  if (!existsSync(join(out, 'model.json'))) return null;
  const checkpoint = await loadCheckpoint(out, expected);
  return { state: state(out, checkpoint), episode: checkpoint.counters.episodes ?? 0 };
}

const csv = (value: number | string): string =>
  typeof value === 'number' ? String(Number(value.toPrecision(6))) : value;
