import test from 'ava';
import fc from 'fast-check';
import type { View } from '../../../agents/index.js';
import { MARKET, marketManager } from '../../../agents/market/index.js';
import { type Millis, millis, SeededRandom } from '../../../config/index.js';
import { observation } from '../../support/observations.js';

const OTHERS = {
  members: 3,
  mean: [],
  variance: [],
  actionMean: [],
  allocated: { cpu: 0, memory: 0, containers: 0 },
  demand: { cpu: 0, memory: 0 },
} as unknown as NonNullable<View['others']>;

const view = (atStake: number, runSeconds: number, price: number | null, hasObjective = true) =>
  ({
    observation: observation(),
    features: [],
    price: null,
    random: new SeededRandom(1),
    others:
      price === null ? null : { ...OTHERS, lateness: { running: 4, atStake: 4 * price, late: 0 } },
    lateness: {
      seconds: 60,
      at: 0 as Millis,
      activations: 100,
      runSeconds,
      atStake,
      late: 0,
      hasObjective,
      isUrgent: false,
    },
  }) satisfies View;

const factorOf = (seen: View, settings = MARKET): number =>
  marketManager(settings).decide(null, seen, millis(0)).decision.weightFactor!;

test('a function with as much at stake as the others keeps its weight', (t) => {
  t.is(factorOf(view(10, 20, 0.5)), 1);
});

test('a factor is (bid / price)^exponent, within a quarter and four', (t) => {
  const settings = { ...MARKET, exponent: 0.5, priorSeconds: 1 };
  // (40 + .5) / (8 + 1) = 4.5, nine times the price.
  t.is(factorOf(view(40, 8, 0.5), settings), 3);
  // (0 + .5) / (8 + 1) is a ninth of the price.
  t.true(Math.abs(factorOf(view(0, 8, 0.5), settings) - 1 / 3) < 1e-12);
  t.is(factorOf(view(4000, 8, 0.5), settings), 4);
  t.is(factorOf(view(0, 80, 0.5), settings), 0.25);
});

test('without an objective, a mean field or anything at stake elsewhere the weight stays', (t) => {
  t.is(factorOf(view(10, 1, 0.5, false)), 1);
  t.is(factorOf(view(10, 1, null)), 1);
  t.is(factorOf(view(10, 1, 0)), 1);
  const { lateness: _, ...unmeasured } = view(10, 1, 0.5);
  t.is(factorOf(unmeasured), 1);
});

test('a fixed price stands in for the mean field', (t) => {
  const settings = { ...MARKET, exponent: 0.5, priorSeconds: 1, price: 0.5 };
  // (40 + .5) / (8 + 1) = 4.5, nine times the price.
  t.is(factorOf(view(40, 8, null), settings), 3);
  t.is(factorOf(view(40, 8, 2), settings), 3, 'not the price of the mean field');
});

test('more at stake never lowers a factor, and it stays within its bounds', (t) => {
  const amount = fc.double({ min: 0, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(amount, amount, amount, amount, (atStake, more, runSeconds, price) => {
      const low = factorOf(view(atStake, runSeconds, price));
      const high = factorOf(view(atStake + more, runSeconds, price));
      return low >= 0.25 && high <= 4 && high >= low - 1e-12;
    }),
  );
  t.pass();
});
