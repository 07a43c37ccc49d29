import test from 'ava';
import {
  JsEngine,
  OptionActorCritic,
  type PpoBatch,
  ShapeError,
  SimdEngine,
  scoreShape,
} from '../../../agents/nn/index.js';
import { Policy, PpoLearner, Rollout, simulatorSettings } from '../../../agents/ppo/index.js';
import { SeededRandom } from '../../../config/index.js';
import { draws, newOptionScorer, relativeDifference, stepSettings } from './fixtures.js';
import { differences, naiveOutputs } from './naive.js';

const engines = [new SimdEngine(), new JsEngine()];

test('actor and critic of FaaSRM’s shape have 1,858 parameters together', (t) => {
  const pair = newOptionScorer(engines[0]!, 64, new SeededRandom(1));
  // 11 x 32 + 32 + 32 x 16 + 16 + 16 + 1 = 929
  t.is(pair.actor.export().length, 929);
  t.is(pair.actor.export().length + pair.critic.export().length, 1858);
});

test('options are scored independently, and the value is their mean', (t) => {
  for (const engine of engines) {
    const pair = newOptionScorer(engine, 3, new SeededRandom(1));
    const options = [1, 2, 3].map((seed) => draws(11, new SeededRandom(seed)));
    const say = (order: readonly number[]): { scores: Float32Array; value: number } => {
      const input = Float32Array.from(order.flatMap((i) => [...options[i]!]));
      const scores = new Float32Array(3);
      const value = new Float32Array(1);
      pair.actor.forward(input, scores);
      pair.critic.forward(input, value);
      return { scores, value: value[0]! };
    };
    const one = say([0, 1, 2]);
    const other = say([2, 0, 1]);
    t.deepEqual([...other.scores], [one.scores[2], one.scores[0], one.scores[1]]);
    const critic = Float64Array.from(pair.critic.export());
    const mean = options.reduce((sum, x) => sum + naiveOutputs(scoreShape, critic, x)[0]!, 0) / 3;
    t.true(Math.abs(one.value - mean) < 1e-5 && Math.abs(other.value - mean) < 1e-5);
  }
});

test('the gradient through shared weights is that of finite differences, within 1e-3', (t) => {
  const options = 4;
  const rows = 5;
  const random = new SeededRandom(2);
  const inputs = draws(rows * options * scoreShape.widths[0]!, random);
  const masks = new Uint8Array(rows * options).fill(1);
  masks[1] = 0;
  const batch: PpoBatch = {
    rows,
    inputs,
    actions: Int32Array.of(0, 1, 2, 3, 0),
    masks,
    logProbabilities: new Float32Array(rows).fill(Math.log(0.27)),
    advantages: draws(rows, random),
    returns: draws(rows, random),
  };
  const settings = { ...stepSettings, beta1: 0, maxGradNorm: Number.MAX_VALUE };
  const option = (row: number, j: number): Float32Array =>
    inputs.subarray((row * options + j) * 11, (row * options + j + 1) * 11);
  const policyLoss = (parameters: Float64Array): number => {
    let total = 0;
    for (let row = 0; row < rows; row++) {
      const weights = Array.from({ length: options }, (_, j) =>
        masks[row * options + j] === 1
          ? Math.exp(naiveOutputs(scoreShape, parameters, option(row, j))[0]!)
          : 0,
      );
      const sum = weights.reduce((a, b) => a + b, 0);
      const p = weights.map((w) => w / sum);
      const ratio = p[batch.actions[row]!]! / Math.exp(batch.logProbabilities[row]!);
      const bound = Math.min(Math.max(ratio, 0.8), 1.2);
      const advantage = batch.advantages[row]!;
      const entropy = -p.reduce((a, q) => a + (q > 0 ? q * Math.log(q) : 0), 0);
      total -=
        Math.min(ratio * advantage, bound * advantage) + settings.entropyCoefficient * entropy;
    }
    return total / rows;
  };
  const valueLoss = (parameters: Float64Array): number => {
    let total = 0;
    for (let row = 0; row < rows; row++) {
      let value = 0;
      for (let j = 0; j < options; j++)
        value += naiveOutputs(scoreShape, parameters, option(row, j))[0]! / options;
      total += settings.valueCoefficient * 0.5 * (value - batch.returns[row]!) ** 2;
    }
    return total / rows;
  };
  const indices = Array.from({ length: 60 }, () => random.below(929));
  for (const engine of engines) {
    const pair = newOptionScorer(engine, options, new SeededRandom(3));
    const actor = Float64Array.from(pair.actor.export());
    const critic = Float64Array.from(pair.critic.export());
    t.true(pair.ppoStep(batch, settings).applied);
    for (const [network, loss, at] of [
      [pair.actor, policyLoss, actor],
      [pair.critic, valueLoss, critic],
    ] as const) {
      const { first } = network.exportMoments();
      const found = Float32Array.from(indices, (i) => first[i]!);
      t.true(
        relativeDifference(found, Float32Array.from(differences(loss, at, indices))) < 1e-3,
        engine.name,
      );
    }
  }
});

test('PPO learns to choose among options, also for another number of them', (t) => {
  const engine = engines[0]!;
  const random = new SeededRandom(4);
  const features = (options: number): Float32Array =>
    Float32Array.from({ length: 11 * options }, () => random.next());
  const best = (input: Float32Array, mask: Uint8Array): number => {
    let index = -1;
    for (let j = 0; j < mask.length; j++)
      if (mask[j] === 1 && (index < 0 || input[11 * j]! > input[11 * index]!)) index = j;
    return index;
  };
  const options = 6;
  const trained = newOptionScorer(engine, options, new SeededRandom(5));
  const policy = new Policy(trained.actor);
  const settings = { ...simulatorSettings, learningRate: { first: 5e-3, last: 1e-4 }, updates: 40 };
  const learner = new PpoLearner(trained, settings, new SeededRandom(6));
  const rollout = new Rollout(128, { features: 11 * options, actions: options });
  for (let update = 0; update < 40; update++) {
    rollout.clear();
    while (!rollout.full) {
      const input = features(options);
      const mask = Uint8Array.from({ length: options }, (_, j) => (j === 0 ? 1 : random.below(2)));
      const action = policy.decide(input, mask, random)!;
      const logProbability = policy.logProbability(action);
      const reward = action === best(input, mask) ? 1 : 0;
      rollout.add({ input, mask, action, logProbability, reward, discount: settings.gamma });
      rollout.end();
    }
    learner.update(rollout);
  }
  const more = 12;
  const pair = new OptionActorCritic(engine, scoreShape, more);
  pair.actor.import(trained.actor.export());
  const scores = new Float32Array(more);
  let right = 0;
  for (let i = 0; i < 300; i++) {
    const input = features(more);
    pair.actor.forward(input, scores);
    const all = new Uint8Array(more).fill(1);
    if (scores.indexOf(Math.max(...scores)) === best(input, all)) right++;
  }
  // By chance 25.
  t.true(right > 200, `${right} of 300`);
});

test('what is not finite changes nothing, and shapes that are no scores are refused', (t) => {
  const pair = newOptionScorer(engines[0]!, 2, new SeededRandom(1));
  const before = [pair.actor.export(), pair.critic.export()];
  const inputs = new Float32Array(22).fill(0.1);
  const result = pair.ppoStep(
    {
      rows: 1,
      inputs,
      actions: Int32Array.of(0),
      masks: Uint8Array.of(1, 1),
      logProbabilities: Float32Array.of(-0.7),
      advantages: Float32Array.of(1),
      returns: Float32Array.of(Number.POSITIVE_INFINITY),
    },
    stepSettings,
  );
  t.false(result.applied);
  t.deepEqual([pair.actor.export(), pair.critic.export()], before);
  t.throws(
    () => new OptionActorCritic(engines[0]!, { widths: [11, 4, 2], activation: 'tanh' }, 3),
    {
      instanceOf: ShapeError,
    },
  );
  t.throws(() => newOptionScorer(engines[0]!, 0, new SeededRandom(1)), { instanceOf: ShapeError });
});
