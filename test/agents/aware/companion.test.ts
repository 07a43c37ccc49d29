import test from 'ava';
import { beginFromMostSimilar, companionOf } from '../../../agents/aware/companion.js';
import { FunctionEmbedding } from '../../../agents/aware/function-embedding.js';
import { offlineSettings, shippedMeta } from '../../../agents/aware/index.js';
import { FirmLifeCycleLearner } from '../../../agents/aware/life-cycle/firm-learner.js';
import { metaFeatures, metaReward } from '../../../agents/aware/meta-learner/live-features.js';
import { firmSettings } from '../../../agents/ddpg/index.js';
import { JsEngine } from '../../../agents/nn/index.js';
import { settingsOf } from '../../../agents/simppo/index.js';
import { LatencyHistogram, type Observation } from '../../../broker/messages/index.js';
import { INITIAL } from '../../../experiments/aware/allocation.js';
import { demandOf } from '../../../experiments/aware/demand.js';
import { awareFeatures } from '../../../experiments/aware/features.js';
import { observationOf } from '../../../experiments/aware/rule-based.js';
import { AwareSystem, awareReward } from '../../../experiments/aware/system.js';
import { appsOf } from '../../../experiments/aware/training-thread.js';
import { observation } from '../../support/observations.js';

const engine = new JsEngine();

test('a live step has the features that the meta-learner was taught: those of the simulated step it tells of', (t) => {
  const system = new AwareSystem(demandOf(appsOf('train')[3]!), 1);
  const first = system.step(INITIAL);
  const sight = system.step({ cpu: 1.024, memory: 256, containers: 3 });
  const taught = new Float32Array(12);
  awareFeatures(sight, first.rate, first.rate, taught);
  // `observationOf` tells managers a mean; here the tail counts.
  const latency = new LatencyHistogram();
  for (let i = 0; i < 100; i++) latency.record(1000 * sight.p99);
  const live = metaFeatures(
    { ...observationOf(sight, 1, 1), latency: latency.toMessage() },
    { usual: first.rate, last: first.rate },
  );
  const names = [
    'cpu',
    'memory',
    'preservation',
    'room',
    'size',
    'MiB',
    'containers',
    'load',
    'change',
  ];
  // An observation tells whole calls, whole millicores, and a tail by a bucket of 5 % in whole ms:
  // nothing here is finer.
  names.forEach((name, i) => {
    t.true(Math.abs(live[i]! - taught[i]!) < 0.05, `${name}: ${live[i]} for ${taught[i]}`);
  });
  t.true(Math.abs(live[10]! - taught[10]!) < 0.01);
  t.is(live[11], taught[11]);
  t.true(Math.abs(metaReward(live) - awareReward(sight)) < 0.05);
});

test('an embedding is of one host, and none before an episode is over', (t) => {
  const embedding = new FunctionEmbedding(shippedMeta().encoder, 7);
  const see = (host: string, seen: Partial<Observation> = {}): void =>
    embedding.see(observation({ ...seen, host }), 0);
  for (let i = 0; i < 5; i++) see('a');
  t.true(embedding.value.every((one) => one === 0));
  embedding.close();
  t.is(embedding.episodes, 1);
  // EMBEDDING_LENGTH of agents/aware/meta-learner/encoder.ts.
  t.true(Math.abs(Math.hypot(...embedding.value) - 4) < 1e-4);
  const alone = embedding.value.slice();
  const beside = new FunctionEmbedding(shippedMeta().encoder, 7);
  for (let i = 0; i < 5; i++) {
    beside.see(observation({ host: 'a' }), 0);
    beside.see(observation({ host: 'b', activations: 900 }), 1);
  }
  beside.close();
  t.deepEqual(beside.value, alone);
});

test('a new agent begins like the serving one whose function is most alike, and like none of another mode or one that learns still', (t) => {
  const settings = settingsOf('simppo');
  const { encoder } = shippedMeta();
  const make = (seed: number, mode: 'quota' | 'weight', usedMillicores: number) => {
    const one = companionOf({ base: 'simppo', engine, settings, encoder, seed, mode, start: null });
    const cpu = usedMillicores as Observation['used']['cpu'];
    for (let i = 0; i < 9; i++)
      one.embedding!.see(
        observation({ used: { ...observation({}).used, cpu }, activations: 20 + i }),
        0,
      );
    one.embedding!.close();
    t.teardown(() => one.learner.dispose());
    return one;
  };
  const fresh = make(1, 'quota', 400);
  const twin = make(2, 'quota', 400);
  const before = fresh.learner.weights();
  t.false(beginFromMostSimilar(fresh, [fresh, twin]), 'it learns still');
  twin.serves = true;
  t.false(beginFromMostSimilar(fresh, [{ ...twin, mode: 'weight' }]));
  t.deepEqual(fresh.learner.weights(), before);
  t.true(beginFromMostSimilar(fresh, [fresh, twin]));
  t.deepEqual(fresh.learner.weights(), twin.learner.weights());
});

test('FIRM under the life cycle: offline it comes to do what the fallback did, and is not ahead of it by itself', (t) => {
  const features = 3;
  const firm = new FirmLifeCycleLearner({
    engine,
    features,
    context: 0,
    actions: 4,
    ddpg: firmSettings,
    offline: offlineSettings,
    seed: 5,
  });
  t.teardown(() => firm.dispose());
  const mask = Uint8Array.from([1, 1, 1, 0]);
  // The fallback takes action 1 where the first feature is high, else 2; every step earns the same.
  const input = (i: number) => Float32Array.from([i % 2, 0.5, 0.25]);
  let ahead: number | null = null;
  for (let evening = 0; evening < 6; evening++) {
    for (let i = 0; i < 50; i++)
      firm.recordDemonstration({ input: input(i), mask, action: i % 2 === 1 ? 1 : 2, reward: 0.5 });
    ahead = firm.trainOffline(input(0));
  }
  t.is(firm.decide(input(1), mask, false), 1);
  t.is(firm.decide(input(0), mask, false), 2);
  // It does in every step what the fallback did: by replay in the same surrogate nothing is left
  // between them.
  t.true(Math.abs(ahead!) < 1e-9, `${ahead}`);
  // A masked action is never taken.
  t.not(firm.decide(input(1), Uint8Array.from([1, 0, 1, 0]), true), 1);
});
