import test from 'ava';
import { PpoLifeCycleLearner, ThreadOfflineTrainer } from '../../../../agents/aware/index.js';
import { FirmLifeCycleLearner } from '../../../../agents/aware/life-cycle/firm-learner.js';
import {
  type FirmTrainingJob,
  type FirmTrainingResult,
  trainFirmOffline,
} from '../../../../agents/aware/life-cycle/firm-training.js';
import {
  learnOffline,
  type OfflineJob,
  type OfflineResult,
} from '../../../../agents/aware/life-cycle/offline.js';
import type { OfflineTrainer } from '../../../../agents/aware/life-cycle/offline-trainer.js';
import { firmSettings } from '../../../../agents/firm/index.js';
import { SimdEngine } from '../../../../agents/nn/index.js';
import {
  simulatorSettings,
  type TrainingJob,
  type TrainingResult,
  train,
} from '../../../../agents/ppo/index.js';
import { SeededRandom } from '../../../../config/index.js';
import { settle } from '../../../support/settle.js';

const engine = new SimdEngine();
const features = 3;
const actions = 4;
const ppo = { ...simulatorSettings, hidden: [8], updates: 10 };
const after = Float32Array.of(0.1, 0.2, 0.3);

/** Finishes jobs when the test says so. */
class DeferredOfflineTrainer implements OfflineTrainer {
  readonly trainings: { job: OfflineJob; done: (result: OfflineResult | null) => void }[] = [];
  readonly firmTrainings: {
    job: FirmTrainingJob;
    done: (result: FirmTrainingResult | null) => void;
  }[] = [];
  readonly updates: { job: TrainingJob; done: (result: TrainingResult | null) => void }[] = [];

  trainOffline(job: OfflineJob): Promise<OfflineResult | null> {
    return new Promise((done) => this.trainings.push({ job, done }));
  }

  trainFirmOffline(job: FirmTrainingJob): Promise<FirmTrainingResult | null> {
    return new Promise((done) => this.firmTrainings.push({ job, done }));
  }

  update(job: TrainingJob): Promise<TrainingResult | null> {
    return new Promise((done) => this.updates.push({ job, done }));
  }

  async close(): Promise<void> {}
}

const learner = (offlineTrainer?: OfflineTrainer): PpoLifeCycleLearner =>
  new PpoLifeCycleLearner({
    ...{
      engine,
      features,
      context: 0,
      actions,
      ppo,
      batch: 8,
      seed: 1,
      start: () => null,
    },
    ...(offlineTrainer === undefined ? {} : { offlineTrainer }),
  });

const random = new SeededRandom(7);
const input = (): Float32Array => Float32Array.from({ length: features }, () => random.next());
const mask = Uint8Array.of(1, 1, 1, 1);

/** An episode that is watched. */
function recordDemonstration(under: PpoLifeCycleLearner | FirmLifeCycleLearner): void {
  for (let i = 0; i < 10; i++)
    under.recordDemonstration(
      { input: input(), mask, action: i % actions, reward: random.next() },
      after,
    );
}

test('what is studied and updated in a thread is what would be here, to the bit', async (t) => {
  const offlineTrainer = new ThreadOfflineTrainer();
  t.teardown(() => offlineTrainer.close());
  const held = new DeferredOfflineTrainer();
  const under = learner(held);
  for (let i = 0; i < 4; i++) {
    recordDemonstration(under);
    under.trainOffline();
    // Each study is of all that was watched: the fourth has a surrogate.
    held.trainings.at(-1)!.done(null);
    await settle();
  }
  const { job } = held.trainings.at(-1)!;
  const trained = await offlineTrainer.trainOffline(job);
  t.is(job.episodes.length, 4);
  t.deepEqual(trained, learnOffline(engine, job));
  act(under, 8);
  const [update] = held.updates;
  t.deepEqual(await offlineTrainer.update(update!.job), train(engine, update!.job));
});

/** Steps of its own while it learns. */
function act(under: PpoLifeCycleLearner, steps: number): void {
  for (let i = 0; i < steps; i++) {
    const seen = input();
    const { action, logProbabilities } = under.decide(seen, mask, true)!;
    const logProbability = logProbabilities![action]!;
    under.learn({ input: seen, mask, action, reward: random.next(), logProbability }, after);
  }
}

test('offline a policy that was trained before keeps its actor and counts as good', (t) => {
  const trained = learner();
  const start = trained.agent.export();
  trained.dispose();
  const held = new DeferredOfflineTrainer();
  const under = new PpoLifeCycleLearner({
    ...{ engine, features, context: 0, actions, ppo, batch: 8, seed: 1, start: () => start },
    offlineTrainer: held,
  });
  // More episodes than a surrogate is fitted from.
  for (let i = 0; i < 5; i++) {
    recordDemonstration(under);
    under.trainOffline();
  }
  const { job } = held.trainings[0]!;
  for (const episodes of [job.episodes, Array.from({ length: 5 }, () => job.episodes[0]!)]) {
    const { state, estimatedGain } = learnOffline(engine, { ...job, episodes });
    t.deepEqual(state.actor, start.actor);
    t.notDeepEqual(state.critic, start.critic);
    t.is(estimatedGain, 0);
  }
  under.dispose();
});

test('an estimate is returned once; steps recorded meanwhile wait for the next job', async (t) => {
  const held = new DeferredOfflineTrainer();
  const under = learner(held);
  recordDemonstration(under);
  t.is(under.trainOffline(), null);
  recordDemonstration(under);
  t.is(under.trainOffline(), null);
  t.is(held.trainings.length, 1);
  const { job, done } = held.trainings[0]!;
  const learned = { ...job.state, actor: job.state.actor.map((weight) => weight + 1) };
  done({ state: learned, estimatedGain: 0.5 });
  await settle();
  t.deepEqual(under.agent.export().actor, learned.actor);
  recordDemonstration(under);
  t.is(under.trainOffline(), 0.5);
  t.is(held.trainings[1]!.job.episodes.length, 3);
  recordDemonstration(under);
  t.is(under.trainOffline(), null, 'nothing was learned since');
});

test('a result that arrives after begin, restart or forget is dropped', async (t) => {
  for (const invalidate of ['begin', 'restart', 'forget'] as const) {
    const held = new DeferredOfflineTrainer();
    const under = learner(held);
    recordDemonstration(under);
    under.trainOffline();
    under[invalidate]();
    const before = under.agent.export();
    const { job, done } = held.trainings[0]!;
    done({ state: { ...job.state, actor: job.state.actor.map(() => 9) }, estimatedGain: 1 });
    await settle();
    t.deepEqual(under.agent.export(), before, invalidate);
    recordDemonstration(under);
    t.is(under.trainOffline(), null, invalidate);
  }
});

test('while an update runs the agent acts on its old weights, then on the new ones', async (t) => {
  const held = new DeferredOfflineTrainer();
  const under = learner(held);
  const before = under.agent.export();
  act(under, 8);
  t.is(held.updates.length, 1);
  t.is(held.updates[0]!.job.rollout.rows, 8);
  act(under, 8);
  t.is(held.updates.length, 1, 'one job at a time');
  t.deepEqual(under.agent.export().actor, before.actor);
  const { job, done } = held.updates[0]!;
  done({
    ...train(engine, job),
    state: { ...job.state, actor: job.state.actor.map((weight) => weight + 1) },
  });
  await settle();
  t.is(under.updates, 1);
  t.deepEqual(
    under.agent.export().actor,
    job.state.actor.map((weight) => weight + 1),
  );
});

const firm = (offlineTrainer?: OfflineTrainer): FirmLifeCycleLearner =>
  new FirmLifeCycleLearner({
    ...{
      engine,
      features,
      context: 0,
      actions,
      ddpg: { ...firmSettings, hidden: [8] },
      seed: 1,
    },
    ...(offlineTrainer === undefined ? {} : { offlineTrainer }),
  });

test('what FIRM’s agent studies in a thread is what it would learn here, to the bit', async (t) => {
  const offlineTrainer = new ThreadOfflineTrainer();
  t.teardown(() => offlineTrainer.close());
  const held = new DeferredOfflineTrainer();
  const under = firm(held);
  const here = firm();
  // 80 steps are more than its warm-up of 70, and eight episodes more than the four from which
  // there is a surrogate.
  for (let episode = 0; episode < 8; episode++) {
    const steps = Array.from({ length: 10 }, (_, i) => ({
      input: input(),
      mask,
      action: i % actions,
      reward: random.next(),
    }));
    for (const step of steps) for (const one of [under, here]) one.recordDemonstration(step, after);
    here.trainOffline();
    under.trainOffline();
    const { job, done } = held.firmTrainings.at(-1)!;
    const trained =
      episode === 7 ? await offlineTrainer.trainFirmOffline(job) : trainFirmOffline(engine, job);
    t.is(job.episodes.length, episode + 1);
    t.is(trained!.estimatedGain === null, episode < 3);
    done(trained);
    await settle();
  }
  t.deepEqual(under.weights(), here.weights());
  t.is(held.firmTrainings.at(-1)!.job.memory.written, 80);
});

test('FIRM’s estimate is returned once, and a late result is dropped', async (t) => {
  for (const invalidate of ['none', 'begin', 'restart', 'forget'] as const) {
    const held = new DeferredOfflineTrainer();
    const under = firm(held);
    recordDemonstration(under);
    t.is(under.trainOffline(), null);
    recordDemonstration(under);
    t.is(under.trainOffline(), null);
    t.is(held.firmTrainings.length, 1, 'one at a time');
    if (invalidate !== 'none') under[invalidate]();
    const before = under.weights();
    const { job, done } = held.firmTrainings[0]!;
    done({ state: { ...job.state, actor: job.state.actor.map(() => 9) }, estimatedGain: 0.5 });
    await settle();
    const changed = under.weights().actor.every((weight) => weight === 9);
    t.is(changed, invalidate === 'none', invalidate);
    if (invalidate !== 'none') t.deepEqual(under.weights(), before, invalidate);
    recordDemonstration(under);
    t.is(under.trainOffline(), invalidate === 'none' ? 0.5 : null, invalidate);
    recordDemonstration(under);
    t.is(under.trainOffline(), null, invalidate);
  }
});
