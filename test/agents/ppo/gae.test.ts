import test from 'ava';
import { generalizedAdvantages } from '../../../agents/ppo/gae.js';
import { SeededRandom } from '../../../config/index.js';

/**
 * By the definition: A_t is the sum of all later deltas, each by the discounts and lambdas on the
 * way.
 */
function naive(
  rewards: readonly number[],
  values: readonly number[],
  discounts: readonly number[],
  lambda: number,
  bootstrap: number,
): number[] {
  const deltas = rewards.map(
    (r, t) => r + discounts[t]! * (values[t + 1] ?? bootstrap) - values[t]!,
  );
  return rewards.map((_, t) => {
    let sum = 0;
    for (let k = t; k < rewards.length; k++) {
      let weight = 1;
      for (let j = t; j < k; j++) weight *= discounts[j]! * lambda;
      sum += weight * deltas[k]!;
    }
    return sum;
  });
}

test('two steps by hand', (t) => {
  const advantages = new Float32Array(2);
  // delta_1 = 1 + .9 x 2 - .25 = 2.55; delta_0 = 1 + .9 x .25 - .5 = .725; with lambda 1: A_0 =
  // .725 + .9 x 2.55 = 3.02.
  const rows = { rewards: [1, 1], values: [0.5, 0.25], discounts: [0.9, 0.9] };
  generalizedAdvantages(rows, { from: 0, to: 2, bootstrap: 2 }, 1, advantages);
  t.true(Math.abs(advantages[1]! - 2.55) < 1e-6 && Math.abs(advantages[0]! - 3.02) < 1e-6);
  // With lambda 0 nothing but the own delta; at a real end nothing follows: delta_1 = 1 - .25.
  generalizedAdvantages(rows, { from: 0, to: 2, bootstrap: 0 }, 0, advantages);
  t.true(Math.abs(advantages[1]! - 0.75) < 1e-6 && Math.abs(advantages[0]! - 0.725) < 1e-6);
});

test('estimates equal the naive double loop, for discounts that differ by row', (t) => {
  const random = new SeededRandom(1);
  for (let round = 0; round < 50; round++) {
    const length = 1 + random.below(60);
    const draw = (): number[] => Array.from({ length }, () => 2 * random.next() - 1);
    const [rewards, values] = [draw(), draw()];
    const discounts = draw().map((x) => 0.8 + 0.2 * Math.abs(x));
    const bootstrap = 5 * random.next();
    const expected = naive(rewards, values, discounts, 0.95, bootstrap);
    const pad = (of: readonly number[]): number[] => [7, ...of, 7];
    const advantages = new Float32Array(length + 2).fill(9);
    generalizedAdvantages(
      { rewards: pad(rewards), values: pad(values), discounts: pad(discounts) },
      { from: 1, to: length + 1, bootstrap },
      0.95,
      advantages,
    );
    expected.forEach((a, i) => {
      t.true(Math.abs(advantages[i + 1]! - a) < 1e-5);
    });
    t.is(advantages[0], 9);
    t.is(advantages[length + 1], 9);
  }
});
