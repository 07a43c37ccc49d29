import test from 'ava';
import {
  Apprentice,
  FirmApprentice,
  type FirmStudyJob,
  type FirmStudyResult,
  firmSettings,
  learnOffline,
  type OfflineJob,
  type OfflineResult,
  offlineSettings,
  SimdEngine,
  simulatorSettings,
  studyFirm,
  ThreadTutor,
  type TrainingJob,
  type TrainingResult,
  type Tutor,
  train,
} from '../../../agents/index.js';
import { SeededRandom } from '../../../config/index.js';

const engine = new SimdEngine();
const features = 3;
const actions = 4;
const ppo = { ...simulatorSettings, hidden: [8], updates: 10 };
const after = Float32Array.of(0.1, 0.2, 0.3);

/** Lessons of the apprentice, given when the test says so. */
class HeldTutor implements Tutor {
  readonly studies: { job: OfflineJob; done: (result: OfflineResult | null) => void }[] = [];
  readonly firmStudies: { job: FirmStudyJob; done: (result: FirmStudyResult | null) => void }[] = [];
  readonly updates: { job: TrainingJob; done: (result: TrainingResult | null) => void }[] = [];

  study(job: OfflineJob): Promise<OfflineResult | null> {
    return new Promise((done) => this.studies.push({ job, done }));
  }

  studyFirm(job: FirmStudyJob): Promise<FirmStudyResult | null> {
    return new Promise((done) => this.firmStudies.push({ job, done }));
  }

  update(job: TrainingJob): Promise<TrainingResult | null> {
    return new Promise((done) => this.updates.push({ job, done }));
  }

  async close(): Promise<void> {}
}

const apprentice = (tutor?: Tutor): Apprentice =>
  new Apprentice({
    ...{ engine, features, context: 0, actions, ppo, offline: offlineSettings, batch: 8, seed: 1, start: null },
    ...(tutor === undefined ? {} : { tutor }),
  });

const random = new SeededRandom(7);
const input = (): Float32Array => Float32Array.from({ length: features }, () => random.next());
const mask = Uint8Array.of(1, 1, 1, 1);

/** An episode that is watched. */
function watch(under: Apprentice | FirmApprentice): void {
  for (let i = 0; i < 10; i++) under.watch({ input: input(), mask, action: i % actions, reward: random.next() });
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what is studied and updated in a thread is what would be here, to the bit', async (t) => {
  const tutor = new ThreadTutor();
  t.teardown(() => tutor.close());
  const held = new HeldTutor();
  const under = apprentice(held);
  for (let i = 0; i < 4; i++) {
    watch(under);
    under.study(after);
    // Each study is of all that was watched: the fourth has a surrogate.
    held.studies.at(-1)!.done(null);
    await settled();
  }
  const { job } = held.studies.at(-1)!;
  const studied = await tutor.study(job);
  t.is(job.episodes.length, 4);
  t.deepEqual(studied, learnOffline(engine, job));
  act(under, 8);
  const [update] = held.updates;
  t.deepEqual(await tutor.update(update!.job), train(engine, update!.job));
});

/** Steps of its own while it learns. */
function act(under: Apprentice, steps: number): void {
  for (let i = 0; i < steps; i++) {
    const { action } = under.agent.decide(input(), mask);
    under.learn(action!, random.next(), after);
  }
}

test('an estimate is told once, with the episode after its study; what is watched meanwhile waits for the next study', async (t) => {
  const held = new HeldTutor();
  const under = apprentice(held);
  watch(under);
  t.is(under.study(after), null);
  watch(under);
  t.is(under.study(after), null);
  t.is(held.studies.length, 1);
  const { job, done } = held.studies[0]!;
  const learnt = { ...job.state, actor: job.state.actor.map((weight) => weight + 1) };
  done({ state: learnt, ahead: 0.5 });
  await settled();
  t.deepEqual(under.agent.export().actor, learnt.actor);
  watch(under);
  t.is(under.study(after), 0.5);
  t.is(held.studies[1]!.job.episodes.length, 3);
  watch(under);
  t.is(under.study(after), null, 'nothing was learnt since');
});

test('a study that ends when the agent acts already, or watches anew, changes nothing', async (t) => {
  for (const another of ['begin', 'restart', 'forget'] as const) {
    const held = new HeldTutor();
    const under = apprentice(held);
    watch(under);
    under.study(after);
    under[another]();
    const before = under.agent.export();
    const { job, done } = held.studies[0]!;
    done({ state: { ...job.state, actor: job.state.actor.map(() => 9) }, ahead: 1 });
    await settled();
    t.deepEqual(under.agent.export(), before, another);
    watch(under);
    t.is(under.study(after), null, another);
  }
});

test('while an update is under way the agent acts on by its old weights, and then by the new ones', async (t) => {
  const held = new HeldTutor();
  const under = apprentice(held);
  const before = under.agent.export();
  act(under, 8);
  t.is(held.updates.length, 1);
  t.is(held.updates[0]!.job.rollout.rows, 8);
  act(under, 8);
  t.is(held.updates.length, 1, 'one lesson at a time');
  t.deepEqual(under.agent.export().actor, before.actor);
  const { job, done } = held.updates[0]!;
  done({ ...train(engine, job), state: { ...job.state, actor: job.state.actor.map((weight) => weight + 1) } });
  await settled();
  t.is(under.updates, 1);
  t.deepEqual(
    under.agent.export().actor,
    job.state.actor.map((weight) => weight + 1),
  );
});

const firm = (tutor?: Tutor): FirmApprentice =>
  new FirmApprentice({
    ...{
      engine,
      features,
      context: 0,
      actions,
      ddpg: { ...firmSettings, hidden: [8] },
      offline: offlineSettings,
      seed: 1,
    },
    ...(tutor === undefined ? {} : { tutor }),
  });

test('what FIRM’s agent studies in a thread is what it would learn here, to the bit', async (t) => {
  const tutor = new ThreadTutor();
  t.teardown(() => tutor.close());
  const held = new HeldTutor();
  const under = firm(held);
  const here = firm();
  // 80 steps are more than its warm-up of 70, and eight episodes more than the four from which there is a surrogate.
  for (let episode = 0; episode < 8; episode++) {
    const steps = Array.from({ length: 10 }, (_, i) => ({
      input: input(),
      mask,
      action: i % actions,
      reward: random.next(),
    }));
    for (const step of steps) for (const one of [under, here]) one.watch(step);
    here.study(after);
    under.study(after);
    const { job, done } = held.firmStudies.at(-1)!;
    const studied = episode === 7 ? await tutor.studyFirm(job) : studyFirm(engine, job);
    t.is(job.episodes.length, episode + 1);
    t.is(studied!.ahead === null, episode < 3);
    done(studied);
    await settled();
  }
  t.deepEqual(under.weights(), here.weights());
  t.is(held.firmStudies.at(-1)!.job.memory.written, 80);
});

test('FIRM’s agent is told of a study once, and one that ends when it acts or watches anew changes nothing', async (t) => {
  for (const another of ['none', 'begin', 'restart', 'forget'] as const) {
    const held = new HeldTutor();
    const under = firm(held);
    watch(under);
    t.is(under.study(after), null);
    watch(under);
    t.is(under.study(after), null);
    t.is(held.firmStudies.length, 1, 'one at a time');
    if (another !== 'none') under[another]();
    const before = under.weights();
    const { job, done } = held.firmStudies[0]!;
    done({ state: { ...job.state, actor: job.state.actor.map(() => 9) }, ahead: 0.5 });
    await settled();
    const changed = under.weights().actor.every((weight) => weight === 9);
    t.is(changed, another === 'none', another);
    if (another !== 'none') t.deepEqual(under.weights(), before, another);
    watch(under);
    t.is(under.study(after), another === 'none' ? 0.5 : null, another);
    watch(under);
    t.is(under.study(after), null, another);
  }
});
