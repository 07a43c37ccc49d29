import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { SeededRandom } from '../../../config/index.js';
import { PayloadEstimate } from '../../../openwhisk-plugin/decision/payload-estimate.js';
import { shortFirstFactor } from '../../../openwhisk-plugin/decision/weights.js';
import { normalQuantile } from '../../../simulator/workload/index.js';
import { decider, limits, Player } from './helpers.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const normal = (random: SeededRandom): number =>
  normalQuantile(Math.min(1 - 1e-12, Math.max(1e-12, random.next())));

/**
 * Activations with ln(size) standard normal above 1 KiB, and ln(value) = exponent x ln(size) +
 * noise.
 */
function trainedEstimate(
  activations: number,
  exponent: number,
  noise: number,
  seed: number,
): PayloadEstimate {
  const random = new SeededRandom(seed);
  const estimate = new PayloadEstimate();
  for (let i = 0; i < activations; i++) {
    const log = normal(random as SeededRandom);
    estimate.learn(
      1024 * Math.exp(log),
      10 * Math.exp(exponent * log + noise * normal(random as SeededRandom)),
    );
  }
  return estimate;
}

test('a power of the size is learned exactly after twenty predicted activations', (t) => {
  const estimate = new PayloadEstimate();
  // 1, 4, 9, ... KiB take the square root: 10, 20, 30 ms. The first two only fit a line.
  for (let i = 1; i <= 21; i++) estimate.learn(1024 * i * i, 10 * i);
  t.false(estimate.used);
  t.is(estimate.predict(1024 * 25), Number.NaN);
  estimate.learn(1024 * 22 * 22, 220);
  t.true(estimate.used);
  t.true(Math.abs(estimate.predict(1024 * 25) - 50) < 1e-6);
  // What lies beyond all that was seen counts as the nearest: 220 and 10 ms.
  t.true(Math.abs(estimate.predict(1e12) - 220) < 1e-6);
  t.true(Math.abs(estimate.predict(1) - 10) < 1e-6);
  t.is(estimate.predict(-1), Number.NaN);
  t.is(estimate.predict(0), Number.NaN);
});

test('a mean is predicted, not a median', (t) => {
  // exp(.5 z) has mean exp(.125): of 1 KiB, 10 x 1.133 = 11.33 ms. Over 200 activations' memory the
  // error is a few percent.
  const estimate = trainedEstimate(4000, 1, 0.5, 3);
  t.true(
    Math.abs(estimate.predict(1024) / (10 * Math.exp(0.125)) - 1) < 0.15,
    String(estimate.predict(1024)),
  );
});

test('random sizes are used in one of fifty functions at most, and errors are known', (t) => {
  let used = 0;
  for (let seed = 1; seed <= 50; seed++) {
    const estimate = trainedEstimate(500, 0, 1, seed);
    if (estimate.used) used++;
    // The mean of |z| is sqrt(2 / pi) = .80; from some 290 effective activations within a sixth.
    t.true(Math.abs(estimate.ownError - 0.8) < 0.14, `${seed}: ${estimate.ownError}`);
  }
  t.true(used <= 1, String(used));
});

test('sizes are used while their error is below that of the mean and the median', (t) => {
  const estimate = trainedEstimate(500, 1, 0.5, 7);
  t.true(estimate.used);
  // Noise .5 alone is left of sqrt(1 + .25).
  t.true(Math.abs(estimate.error - 0.5 * 0.8) < 0.08);
  t.true(Math.abs(estimate.ownError - 1.118 * 0.8) < 0.16);
  // The same sizes stop saying anything: a fit that is wrong is left.
  const random = new SeededRandom(9);
  for (let i = 0; i < 400; i++) estimate.learn(1024 * Math.exp(normal(random as SeededRandom)), 10);
  t.false(estimate.used);
});

test('a wild guess from nearly equal sizes does not spoil the predictions after it', (t) => {
  const estimate = new PayloadEstimate();
  // Two sizes 1 % apart, a tenfold value: a slope of -231, which predicts 100 x 1.5^-231 = 2e-39.
  estimate.learn(1000, 100);
  estimate.learn(1010, 10);
  estimate.learn(1500, 15);
  for (let i = 0; i < 4000; i++) {
    const size = 1000 * (1 + (i % 16));
    estimate.learn(size, size / 100);
  }
  t.true(estimate.used);
  // 40 ms at 4000 bytes; the first points and the wild guess are forgotten.
  t.true(Math.abs(estimate.predict(4000) - 40) < 1, `${estimate.predict(4000)}`);
});

test('a single size and values that are no numbers are not used', (t) => {
  const estimate = new PayloadEstimate();
  for (let i = 0; i < 100; i++) estimate.learn(1024, 1 + (i % 7));
  for (const [size, value] of [
    [-1, 5],
    [Number.NaN, 5],
    [1024, 0],
    [1024, Number.NaN],
    [Number.POSITIVE_INFINITY, 5],
  ] as const)
    estimate.learn(size, value);
  t.false(estimate.used);
  t.is(estimate.error, Number.NaN);
});

test('short-first gives small requests more weight than large ones, unless switched off', (t) => {
  for (const payloadAware of [true, false]) {
    const made = decider({
      payloadAware,
      weightClampLow: 1e-3,
      weightClampHigh: 1e3,
      referenceCpuTime: 100 as never,
    });
    const player = new Player(made, limits(256));
    player.fn.minWeightFactor = 0;
    // Activations of 1 to 4 KiB take 100 ms a KiB on one core.
    for (let i = 0; i < 60; i++) {
      const size = 1 + (i % 4);
      player.payload = 1024 * size;
      player.whole(100 * size, 1);
    }
    const sharesOf = (kib: number): number => {
      player.payload = 1024 * kib;
      const { shares } = player.start();
      player.finish();
      return shares;
    };
    const own = 128;
    const mean = player.fn.expectedCpu.mean;
    t.true(Math.abs(mean - 250) < 15);
    for (const kib of [1, 4]) {
      const expected = payloadAware ? 100 * kib : mean;
      const factor = shortFirstFactor(expected, 100, 1, 1e-3, 1e3);
      t.true(Math.abs(sharesOf(kib) / (own * factor) - 1) < 0.08, `${payloadAware} ${kib}`);
    }
  }
});

test('the estimate allocates nothing', (t) => {
  const estimate = trainedEstimate(100, 1, 0.5, 1);
  const round = (activations: number): void => {
    for (let i = 0; i < activations; i++) {
      estimate.learn(1024 + (i % 100), 10 + (i % 50));
      estimate.predict(1024 + (i % 100));
    }
  };
  round(200_000);
  // 16 bytes an activation, one boxed number, are 640 kB in each round, which the young generation
  // holds. What AVA and V8's compilers allocate meanwhile is in a few.
  const grown = Array.from({ length: 21 }, () => {
    collect();
    const before = process.memoryUsage().heapUsed;
    round(20_000);
    return process.memoryUsage().heapUsed - before;
  }).sort((a, b) => a - b);
  t.true((grown[10] ?? Infinity) < 300_000, grown.join());
});
