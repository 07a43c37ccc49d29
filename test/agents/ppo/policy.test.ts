import test from 'ava';
import { JsEngine, type Network } from '../../../agents/nn/index.js';
import { MaskedCategorical, Policy } from '../../../agents/ppo/index.js';
import { SeededRandom } from '../../../config/index.js';

const all = Uint8Array.of(1, 1, 1);

test('probabilities are those of the allowed logits alone, and samples follow them', (t) => {
  const categorical = new MaskedCategorical(3);
  // e^0 : e^ln 3 = 1 : 3 among the two that are allowed.
  t.true(categorical.set(Float32Array.of(0, 99, Math.log(3)), Uint8Array.of(1, 0, 1)));
  const p = [...categorical.logProbabilities].map(Math.exp);
  t.true(Math.abs(p[0]! - 0.25) < 1e-6 && p[1] === 0 && Math.abs(p[2]! - 0.75) < 1e-6);
  t.is(categorical.best, 2);
  const random = new SeededRandom(1);
  const counts = [0, 0, 0];
  for (let i = 0; i < 20_000; i++) counts[categorical.sample(random)]!++;
  t.is(counts[1], 0);
  // Standard deviation sqrt(20000 x 3/16) = 61; four of them.
  t.true(Math.abs(counts[0]! - 5000) < 245, `${counts}`);
});

test('logits of 1000, 0 and -1000 have finite log-probabilities', (t) => {
  const categorical = new MaskedCategorical(3);
  t.true(categorical.set(Float32Array.of(1000, 0, -1000), all));
  t.deepEqual([...categorical.logProbabilities], [0, -1000, -2000]);
});

function actor(bias: readonly number[]): Network {
  const network = new JsEngine().network({ widths: [2, 3], activation: 'tanh' });
  network.import(Float32Array.of(0, 0, 0, 0, 0, 0, ...bias));
  return network;
}

test('a weight that is not a number decides on nothing', (t) => {
  const policy = new Policy(actor([0, Number.NaN, 0]));
  t.is(policy.decide(new Float32Array(2), all, new SeededRandom(1)), null);
  t.is(policy.logProbability(2), Number.NEGATIVE_INFINITY);
  // The broken logit is masked: it is not looked at.
  t.is(policy.decide(new Float32Array(2), Uint8Array.of(1, 0, 1)), 0);
});

test('an empty mask decides on nothing', (t) => {
  const policy = new Policy(actor([0, 1, 0]));
  t.is(policy.decide(new Float32Array(2), new Uint8Array(3)), null);
});

test('an action other than the one sampled has its own log-probability', (t) => {
  const policy = new Policy(actor([Math.log(1), Math.log(2), Math.log(5)]));
  policy.decide(new Float32Array(2), all, new SeededRandom(1));
  for (const [action, p] of [1 / 8, 2 / 8, 5 / 8].entries())
    t.true(Math.abs(policy.logProbability(action) - Math.log(p)) < 1e-6);
  t.is(policy.logProbability(7), Number.NEGATIVE_INFINITY);
});
