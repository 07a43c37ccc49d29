import test from 'ava';
import type { View } from '../../../agents/index.js';
import { type Millis, millis, SeededRandom } from '../../../config/index.js';
import { banditManager } from '../../../experiments/market/bandit.js';
import { observation } from '../../support/observations.js';

/** Rounds of activations of 100 ms, which are late unless the factor is at least 4. */
function factorsOf(rounds: number, price: number): number[] {
  const bandit = banditManager();
  const random = new SeededRandom(3);
  let state = bandit.initialState('/guest/hello');
  let factor = 1;
  return Array.from({ length: rounds }, (_, round) => {
    const view = {
      observation: observation({ slo: (factor >= 4 ? 1000 : 10) as Millis }),
      features: [],
      price: null,
      random,
      others: { lateness: { running: 1, atStake: price, late: 0 } } as View['others'],
    };
    const decided = bandit.decide(state, view, millis(30_000 * (round + 1)));
    state = decided.state;
    factor = decided.decision.weightFactor!;
    return factor;
  });
}

const share = (factors: readonly number[], wanted: number): number =>
  factors.filter((factor) => factor === wanted).length / factors.length;

test('a bandit finds the factor at which it is in time', (t) => {
  t.true(share(factorsOf(300, 0).slice(100), 4) > 0.7);
});

test('a bandit that pays more than it gains keeps a small factor', (t) => {
  // Twenty activations run 2 s a round: a factor of 4 costs 2 x 100 x ln 4, all late ones 20.
  t.true(share(factorsOf(300, 100).slice(100), 4) < 0.1);
});
