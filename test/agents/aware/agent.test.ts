import test from 'ava';
import { AwareAgent } from '../../../agents/aware/agent.js';
import { FunctionEmbedding } from '../../../agents/aware/function-embedding.js';
import {
  DEFAULT_OVERRIDES,
  LIFE_CYCLE_INITIAL,
  LIFE_CYCLE_RUN_INITIAL,
  lifeCycleSettings,
  PpoLifeCycleLearner,
  shippedMeta,
} from '../../../agents/aware/index.js';
import { returnsOf } from '../../../agents/aware/life-cycle/demonstration.js';
import { FirmLifeCycleLearner } from '../../../agents/aware/life-cycle/firm-learner.js';
import type { FirmTrainingJob } from '../../../agents/aware/life-cycle/firm-training.js';
import type { LearnerOptions, LifeCycleLearner } from '../../../agents/aware/life-cycle/learner.js';
import type { OfflineJob } from '../../../agents/aware/life-cycle/offline.js';
import type { OfflineTrainer } from '../../../agents/aware/life-cycle/offline-trainer.js';
import {
  META_FEATURES,
  metaFeatures,
  metaReward,
  metaStepOf,
  NO_RATES,
} from '../../../agents/aware/meta-learner/step-features.js';
import { aimedStep, aimedView } from '../../../agents/aware/slo-aim.js';
import { ReplayMemory } from '../../../agents/ddpg/replay.js';
import { sloPreservation, tailOf } from '../../../agents/features.js';
import { firmSettings } from '../../../agents/firm/index.js';
import { JsEngine } from '../../../agents/nn/index.js';
import { onlineSettings, type TrainingJob } from '../../../agents/ppo/index.js';
import type { View } from '../../../agents/resource-manager.js';
import { LatencyHistogram, type Observation } from '../../../broker/messages/index.js';
import { type Millis, SeededRandom } from '../../../config/index.js';
import { INITIAL } from '../../../experiments/aware/allocation.js';
import { demandOf } from '../../../experiments/aware/demand.js';
import { observationOf } from '../../../experiments/aware/rule-based.js';
import { AwareSystem } from '../../../experiments/aware/system.js';
import { appsOf } from '../../../experiments/aware/training-thread.js';
import { observation } from '../../support/observations.js';

const engine = new JsEngine();

const learnerWith = (seed: number, offlineTrainer?: OfflineTrainer): PpoLifeCycleLearner =>
  new PpoLifeCycleLearner({
    engine,
    features: 3,
    context: 0,
    actions: 7,
    ppo: onlineSettings,
    batch: 8,
    seed,
    start: () => null,
    offlineTrainer,
  });

const agentWith = (
  seed: number,
  embedding: FunctionEmbedding,
  mode: 'quota' | 'weight' = 'quota',
) => new AwareAgent(learnerWith(seed), embedding, mode);

test('a live step has the features that the meta-learner was trained on', (t) => {
  const system = new AwareSystem(demandOf(appsOf('train')[3]!), 1);
  const first = system.step(INITIAL);
  const snapshot = system.step({ cpu: 1.024, memory: 256, containers: 3 });
  const expected = new Float32Array(META_FEATURES.length);
  const live = new Float32Array(META_FEATURES.length);
  const rates = metaFeatures(first, NO_RATES, expected);
  metaFeatures(snapshot, rates, expected);
  // `observationOf` gives managers the mean as the only latency; here the tail counts.
  const latency = new LatencyHistogram();
  for (let i = 0; i < 100; i++) latency.record(1000 * snapshot.p99);
  const step = metaStepOf({ ...observationOf(snapshot, 1, 1), latency: latency.toMessage() });
  metaFeatures(step, rates, live);
  META_FEATURES.forEach((name, i) => {
    // Not comparable: on a host the waits are estimated from the CPU time.
    if (name === 'waiting') return;
    // Observations hold whole activations and millicores, and a tail to 5 %.
    const difference = Math.abs(live[i]! - expected[i]!);
    t.true(difference < 0.05, `${name}: ${live[i]} instead of ${expected[i]}`);
  });
  t.true(Math.abs(metaReward(step) - metaReward(snapshot)) < 0.05);
});

test('an embedding covers one host, and is zero before an episode is over', (t) => {
  const embedding = new FunctionEmbedding(shippedMeta().encoder, 7);
  const see = (host: string, seen: Partial<Observation> = {}): void =>
    embedding.observe(observation({ ...seen, host }), 0);
  for (let i = 0; i < 5; i++) see('a');
  t.true(embedding.value.every((one) => one === 0));
  embedding.close();
  t.is(embedding.trajectories.length, 1);
  // EMBEDDING_LENGTH of agents/aware/meta-learner/encoder.ts.
  t.true(Math.abs(Math.hypot(...embedding.value) - 4) < 1e-4);
  const alone = embedding.value.slice();
  const beside = new FunctionEmbedding(shippedMeta().encoder, 7);
  for (let i = 0; i < 5; i++) {
    beside.observe(observation({ host: 'a' }), 0);
    beside.observe(observation({ host: 'b', activations: 900 }), 1);
  }
  beside.close();
  t.deepEqual(beside.value, alone);
});

test('a new agent starts from the most similar serving agent of the same mode', (t) => {
  const { encoder } = shippedMeta();
  const make = (seed: number, mode: 'quota' | 'weight', usedMillicores: number) => {
    const agent = agentWith(seed, new FunctionEmbedding(encoder, 7), mode);
    const cpu = usedMillicores as Observation['used']['cpu'];
    for (let i = 0; i < 9; i++)
      agent.embedding!.observe(
        observation({ used: { ...observation({}).used, cpu }, activations: 20 + i }),
        0,
      );
    agent.embedding!.close();
    t.teardown(() => agent.learner.dispose());
    return agent;
  };
  const fresh = make(1, 'quota', 400);
  const twin = make(2, 'quota', 400);
  const before = fresh.learner.weights();
  t.false(fresh.beginFromMostSimilar([fresh, twin]), 'it is still learning');
  twin.isServing = true;
  twin.mode = 'weight';
  t.false(fresh.beginFromMostSimilar([twin]));
  t.deepEqual(fresh.learner.weights(), before);
  twin.mode = 'quota';
  t.true(fresh.beginFromMostSimilar([fresh, twin]));
  t.deepEqual(fresh.learner.weights(), twin.learner.weights());
});

test('a restored embedding is kept until five new episodes describe the function better', (t) => {
  const { encoder } = shippedMeta();
  const saved = new Float32Array(encoder.shape.embedding).fill(0.5);
  const embedding = new FunctionEmbedding(encoder, 7);
  const agent = agentWith(4, embedding);
  t.teardown(() => agent.learner.dispose());
  t.true(agent.load(agent.learner.weights(), saved));
  const alone = new FunctionEmbedding(encoder, 7);
  for (let episode = 1; episode <= 5; episode++) {
    for (const one of [embedding, alone]) {
      for (let i = 0; i < 5; i++) one.record(new Float32Array(12).fill(episode / 10), 0, 0.5);
      one.close();
    }
    t.deepEqual(embedding.value, episode < 5 ? saved : alone.value, `after ${episode}`);
  }
});

test('a restored agent keeps its weights beside a similar one that serves', (t) => {
  const { encoder } = shippedMeta();
  const settings = { ...lifeCycleSettings, episodeSteps: 1 };
  const offline = {
    ...LIFE_CYCLE_RUN_INITIAL,
    life: { ...LIFE_CYCLE_INITIAL, phase: 'offline' as const },
  };
  const make = (seed: number) => {
    const agent = agentWith(seed, new FunctionEmbedding(encoder, 7));
    t.teardown(() => agent.learner.dispose());
    const outcome = { reward: 0.5, sloPreservation: 1, arrivals: true, byAgent: false };
    const episodes = (count: number, others: AwareAgent[]): void => {
      for (let i = 0; i < count; i++) {
        agent.embedding!.record(new Float32Array(12).fill(0.5), 0, 0.5);
        agent.advance(offline, outcome, DEFAULT_OVERRIDES, settings, others);
      }
    };
    return { agent, episodes };
  };
  const twin = make(6);
  twin.episodes(1, []);
  twin.agent.isServing = true;
  const fresh = make(7);
  fresh.episodes(2, [twin.agent]);
  t.deepEqual(fresh.agent.learner.weights(), twin.agent.learner.weights());
  const restored = make(8);
  const weights = restored.agent.learner.weights();
  t.true(restored.agent.load(weights, twin.agent.embedding!.value));
  restored.episodes(2, [twin.agent]);
  t.deepEqual(restored.agent.learner.weights(), weights);
});

test('after a change of the workload the embedding is that of the newest episode alone', (t) => {
  const { encoder } = shippedMeta();
  const embedding = new FunctionEmbedding(encoder, 7);
  const agent = agentWith(3, embedding);
  t.teardown(() => agent.learner.dispose());
  const record = (to: FunctionEmbedding, value: number): void => {
    for (let i = 0; i < 5; i++) to.record(new Float32Array(12).fill(value), 0, value);
  };
  record(embedding, 0.9);
  embedding.close();
  record(embedding, 0.1);
  // A serving agent whose returns fall far below its reference in two windows.
  const settings = { ...lifeCycleSettings, episodeSteps: 1, window: 2, agreeingWindows: 1 };
  const reference = { mean: 0.9, spread: 0, episodes: 20 };
  const run = {
    ...LIFE_CYCLE_RUN_INITIAL,
    life: { ...LIFE_CYCLE_INITIAL, phase: 'serving' as const, reference, returns: [0.1] },
  };
  const outcome = { reward: 0.1, sloPreservation: 1, arrivals: true, byAgent: true };
  const { transitions } = agent.advance(run, outcome, DEFAULT_OVERRIDES, settings);
  t.is(transitions[0]?.to, 'online');
  const alone = new FunctionEmbedding(encoder, 7);
  record(alone, 0.1);
  alone.close();
  t.deepEqual(embedding.value, alone.value);
});

test('a segment is of one host, and ends where the fallback acts there', (t) => {
  const updates: TrainingJob[] = [];
  const offlineTrainer: OfflineTrainer = {
    trainOffline: async () => null,
    trainFirmOffline: async () => null,
    update: async (job) => {
      updates.push(job);
      return null;
    },
    close: async () => {},
  };
  const learner = learnerWith(1, offlineTrainer);
  t.teardown(() => learner.dispose());
  const agent = new AwareAgent(learner, null);
  const online = {
    ...LIFE_CYCLE_RUN_INITIAL,
    life: { ...LIFE_CYCLE_INITIAL, phase: 'online' as const },
  };
  const mask = new Uint8Array(7).fill(1);
  const input = (value: number): Float32Array => new Float32Array(3).fill(value);
  const act = (host: string, from: number, to: number, byAgent = true): void => {
    const choice = agent.decide(online, input(from), mask)!;
    const step = { input: input(from), mask, action: choice.action, reward: 1, host };
    agent.learn(online, { ...step, choice: byAgent ? choice : null }, input(to));
  };
  for (let i = 0; i < 5; i++) {
    act('a', i, i + 1, i !== 2);
    if (i > 0) act('b', -i, -i - 1);
  }
  const { segments, inputs } = updates[0]!.rollout;
  t.deepEqual(segments, [
    { from: 0, to: 2, after: input(2) },
    { from: 2, to: 6, after: input(-5) },
    { from: 6, to: 8, after: input(5) },
  ]);
  const first = Array.from({ length: 8 }, (_, row) => inputs[3 * row]);
  t.deepEqual(first, [0, 1, -1, -2, -3, -4, 3, 4]);
});

const [onA, onB] = [0.1, 0.9].map((value) => new Float32Array(3).fill(value)) as [
  Float32Array,
  Float32Array,
];

/** What is learned of the fallback's steps on two hosts in turn; one on `b` was masked. */
function watchTwoHosts(
  learnerOf: (options: LearnerOptions) => LifeCycleLearner,
): OfflineJob | FirmTrainingJob {
  const jobs: (OfflineJob | FirmTrainingJob)[] = [];
  const keep = async (job: OfflineJob | FirmTrainingJob): Promise<null> => {
    jobs.push(job);
    return null;
  };
  const offlineTrainer: OfflineTrainer = {
    trainOffline: keep,
    trainFirmOffline: keep,
    update: async () => null,
    close: async () => {},
  };
  const learner = learnerOf({
    ...{ engine, features: 3, context: 0, actions: 7, seed: 1, offlineTrainer },
  });
  const agent = new AwareAgent(learner, null);
  const offline = {
    ...LIFE_CYCLE_RUN_INITIAL,
    life: { ...LIFE_CYCLE_INITIAL, phase: 'offline' as const },
  };
  const about = { mask: Uint8Array.from([1, 1, 1, 1, 1, 1, 0]), choice: null };
  for (let i = 0; i < 4; i++) {
    agent.learn(offline, { ...about, input: onA, action: 1, reward: 1, host: 'a' }, onA);
    const action = i === 2 ? 6 : 1;
    agent.learn(offline, { ...about, input: onB, action, reward: 0, host: 'b' }, onB);
  }
  learner.trainOffline();
  learner.dispose();
  return jobs[0]!;
}

test('steps of the fallback are segments by host, and end where one is not recorded', (t) => {
  const { episodes } = watchTwoHosts(
    (options) =>
      new PpoLifeCycleLearner({ ...options, ppo: onlineSettings, batch: 8, start: () => null }),
  );
  const segments = episodes[0]!.map(({ steps, after }) => [
    ...steps.map(({ input }) => input),
    after,
  ]);
  t.deepEqual(segments, [
    [onB, onB, onB],
    [onA, onA, onA, onA, onA],
    [onB, onB],
  ]);
  // A host that always earns 1 is worth 1 / (1 - .5) = 2, one that earns nothing 0.
  const worth = episodes[0]!.map((segment) => [...returnsOf(segment, 0.5)]);
  t.deepEqual(worth, [[0, 0], [2, 2, 2, 2], [0]]);
});

test('FIRM remembers no transition from one host to another', (t) => {
  const { memory } = watchTwoHosts(
    (options) => new FirmLifeCycleLearner({ ...options, ddpg: firmSettings }),
  ) as FirmTrainingJob;
  t.is(memory.written, 7);
  const remembered = new ReplayMemory(firmSettings.replay, 3, 7);
  remembered.import(memory);
  const { states, next } = remembered.sample(64, new SeededRandom(1));
  t.deepEqual(next, states);
});

test('FIRM under the life cycle: offline it clones the fallback and claims no gain', (t) => {
  const features = 3;
  const firm = new FirmLifeCycleLearner({
    engine,
    features,
    context: 0,
    actions: 4,
    ddpg: firmSettings,
    seed: 5,
  });
  t.teardown(() => firm.dispose());
  const mask = Uint8Array.from([1, 1, 1, 0]);
  // The fallback takes action 1 where the first feature is high, else 2; every step earns the same.
  const input = (i: number) => Float32Array.from([i % 2, 0.5, 0.25]);
  let ahead: number | null = null;
  for (let round = 0; round < 6; round++) {
    for (let i = 0; i < 50; i++)
      firm.recordDemonstration(
        { input: input(i), mask, action: i % 2 === 1 ? 1 : 2, reward: 0.5 },
        input(i + 1),
      );
    ahead = firm.trainOffline();
  }
  t.is(firm.decide(input(1), mask, false)?.action, 1);
  t.is(firm.decide(input(0), mask, false)?.action, 2);
  // It does in every step what the fallback did: by replay in the same surrogate nothing is left
  // between them.
  t.true(Math.abs(ahead!) < 1e-9, `${ahead}`);
  // A masked action is never taken.
  t.not(firm.decide(input(1), Uint8Array.from([1, 0, 1, 0]), true)?.action, 1);
});

test('an agent aims at a share of the SLO: it sees and is rewarded by 80 % of it', (t) => {
  // p99 and SLO 100 ms: kept, and for the agent 100 of 80 ms, so .8.
  const latency = observation().latency;
  const view: View = {
    observation: observation({ slo: tailOf(latency) as Millis }),
    features: [0.4, 1, 0.1, 0, 0.1, 0.2],
    others: null,
    price: null,
    random: new SeededRandom(1),
  };
  const aimed = aimedView(view);
  t.true(Math.abs(aimed.features[1]! - 0.8) < 1e-9);
  t.is(sloPreservation(view.observation), 1);
  t.true(Math.abs(sloPreservation(aimed.observation) - 0.8) < 1e-9);
  const without = { ...view, observation: observation({ slo: undefined }) };
  t.is(aimedView(without), without);
  const step = { slo: 1, p99: 1, preservation: 1, rate: 3 };
  t.deepEqual(aimedStep(step), { slo: 0.8, p99: 1, preservation: 0.8, rate: 3 });
});
