import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectedFaasrm, faasrmCheckpoint, faasrmState } from '../../agents/faasrm/index.js';
import {
  type Checkpoint,
  type Expected,
  loadCheckpoint,
  saveCheckpoint,
} from '../../agents/nn/index.js';
import { type LearnerState, ppoState } from '../../agents/ppo/index.js';
import {
  expectedPolicy,
  policyCheckpoint,
  settingsOf,
  widenPolicy,
} from '../../agents/simppo/index.js';
import { UsageError } from '../../config/index.js';
import { stderrProgress } from '../../runtime/index.js';
import { type FaasrmPlan, faasrmTrainingSettings, trainFaasrm } from './faasrm.js';
import { type EpisodeResult, type TrainingPlan, train, trainingSettings } from './training.js';

/** What to go on from, and how many episodes it has seen. */
interface Resume {
  readonly state: LearnerState;
  readonly episode: number;
}

/** One training: its episodes and its checkpoints. */
interface TrainingRun {
  /** All that it depends on; stored in its checkpoints as JSON. */
  readonly plan: object;
  readonly episodes: number;
  readonly expected: Expected;
  /** State before the first episode; null: new weights. */
  begin(): Promise<LearnerState | null>;
  state(where: string, checkpoint: Checkpoint): LearnerState;
  checkpoint(state: LearnerState): Checkpoint;
  run(
    resume: Resume | null,
  ): Iterable<{ readonly result: EpisodeResult; readonly state: LearnerState }>;
}

export function faasrmRun(plan: Omit<FaasrmPlan, 'resume'>): TrainingRun {
  const settings = faasrmTrainingSettings(plan);
  return {
    plan: { manager: 'faasrm', ...plan.training, episodes: plan.episodes, seed: plan.seed },
    episodes: plan.episodes,
    expected: expectedFaasrm,
    begin: async () => null,
    state: faasrmState,
    checkpoint: (state) => faasrmCheckpoint(state, settings, plan.seed),
    run: (resume) => trainFaasrm({ ...plan, resume }),
  };
}

/** `beginWith`: folder of the policy that is refined. */
export function policyRun(
  plan: Omit<TrainingPlan, 'refines' | 'resume'>,
  beginWith?: string,
): TrainingRun {
  const { manager, episodes, seed } = plan;
  const refines = beginWith !== undefined;
  const settings = trainingSettings(manager, episodes, refines);
  return {
    // Without its path: the same training in another folder gives the same bytes.
    plan: { ...plan, refines },
    episodes,
    expected: expectedPolicy(settings),
    begin: async () => {
      if (beginWith === undefined) return null;
      // `simppo` extends a policy that saw no other agents.
      const from = manager === 'simppo' ? settingsOf('single-agent') : settings;
      const checkpoint = await loadCheckpoint(beginWith, expectedPolicy(from));
      return widenPolicy(ppoState(beginWith, checkpoint), from, settings);
    },
    state: ppoState,
    checkpoint: (state) => policyCheckpoint(state, settings, seed),
    run: (resume) => train({ ...plan, refines, resume }),
  };
}

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
/** Of a checkpoint's configuration. */
export const PLAN = 'training';
/** Episodes between saves. */
const SAVED_EVERY = 10;

/** Trains; saves checkpoint and curve in the folder `out`. @returns the newest episodes */
export async function runTraining(
  training: TrainingRun,
  out: string,
  resumes: boolean,
): Promise<readonly EpisodeResult[]> {
  const { episodes } = training;
  const resume = (resumes ? await resumed(out, training) : null) ?? (await fresh(training));
  const curve = join(out, CURVE);
  writeFileSync(curve, keptOf(curve, resume?.episode ?? 0));
  const recent: EpisodeResult[] = [];
  const progress = stderrProgress();
  try {
    for (const { result, state } of training.run(resume)) {
      writeFileSync(curve, `${COLUMNS.map((key) => csv(result[key])).join(',')}\n`, { flag: 'a' });
      recent.push(result);
      if (recent.length > SAVED_EVERY) recent.shift();
      const done = result.episode + 1;
      const reward = recent.reduce((sum, one) => sum + one.reward, 0) / recent.length;
      progress.update(
        done / episodes,
        `${done} of ${episodes} episodes, reward ${reward.toFixed(3)}`,
      );
      if (done % SAVED_EVERY !== 0 && done !== episodes) continue;
      const checkpoint = training.checkpoint(state);
      const counters = { ...checkpoint.counters, episodes: done };
      const configuration = { ...checkpoint.configuration, [PLAN]: jsonOf(training.plan) };
      await saveCheckpoint(out, { ...checkpoint, counters, configuration });
    }
  } finally {
    progress.end();
  }
  return recent;
}

async function fresh(training: TrainingRun): Promise<Resume | null> {
  const state = await training.begin();
  return state && { state, episode: 0 };
}

/** @throws UsageError if the checkpoint is of a training with another plan. */
async function resumed(
  out: string,
  { plan, expected, state }: TrainingRun,
): Promise<Resume | null> {
  if (!existsSync(join(out, 'model.json'))) return null;
  const checkpoint = await loadCheckpoint(out, expected);
  const stored = checkpoint.configuration[PLAN] as JsonObject | undefined;
  const differing = stored === undefined ? ['unknown options'] : differences(stored, jsonOf(plan));
  if (differing.length > 0)
    throw new UsageError(
      `cannot resume the training in ${out}: it was started with ${differing.join(', ')}`,
      { hint: 'repeat the options of its start, or begin another training with another --out' },
    );
  return { state: state(out, checkpoint), episode: checkpoint.counters.episodes ?? 0 };
}

/** Header and episodes before `episode`: those after the last save are trained again. */
function keptOf(curve: string, episode: number): string {
  const [, ...lines] = existsSync(curve) ? readFileSync(curve, 'utf8').split('\n') : [];
  const kept = lines.filter((line) => line !== '' && Number.parseInt(line, 10) < episode);
  return [COLUMNS.join(','), ...kept, ''].join('\n');
}

type JsonObject = Checkpoint['configuration'];

/** As it is read from a file: without undefined, infinity as null. */
const jsonOf = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;

/** What differs in two plans: `loads [0.7] instead of [0.9]`. */
const differences = (before: JsonObject, now: JsonObject): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .map((key) => ({ key, was: JSON.stringify(before[key]), is: JSON.stringify(now[key]) }))
    .filter(({ was, is }) => was !== is)
    .map(({ key, was = 'none', is = 'none' }) => `${key} ${was} instead of ${is}`);

const csv = (value: number | string): string =>
  typeof value === 'number' ? String(Number(value.toPrecision(6))) : value;
