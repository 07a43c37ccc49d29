import test from 'ava';
import {
  ENSURE_DEFAULT,
  ENSURE_PUBLISHED,
  ensureManager,
} from '../../../agents/managers/ensure.js';
import { latencies, play } from './play.js';

const cpus = (...input: Parameters<typeof play>): (number | undefined)[] =>
  play(...input).decisions.map((d) => d.cpu);

test('CPU rises if the mean latency is at least 1.1 × the best evaluation', (t) => {
  // Reference 100. 109 / 100 < 1.1; 110 / 100 = 1.1: short function, step 2 x max(250, 10 % of
  // 1000) = 500.
  const steps = [latencies(20, 100), latencies(20, 109), latencies(20, 110)];
  t.deepEqual(cpus(ensureManager(ENSURE_DEFAULT), steps), [1000, 1000, 1500]);
  // As published a short function gets two cores more.
  t.deepEqual(cpus(ensureManager(ENSURE_PUBLISHED), steps), [1000, 1000, 3000]);
});

test('a long function (mean above 5 s) takes single steps', (t) => {
  const steps = [latencies(20, 5001), latencies(20, 6000)];
  t.deepEqual(cpus(ensureManager(ENSURE_PUBLISHED), steps), [1000, 2000]);
  t.deepEqual(cpus(ensureManager(ENSURE_DEFAULT), steps), [1000, 1250]);
});

test('a short function is evaluated every three activations, a long one every five', (t) => {
  const short = [latencies(3, 100), latencies(2, 200), latencies(1, 200)];
  // After the first evaluation two slow activations wait for a third.
  t.deepEqual(cpus(ensureManager(ENSURE_PUBLISHED), short), [1000, 1000, 3000]);
  const long = [latencies(5, 6000), latencies(4, 9000), latencies(1, 9000)];
  t.deepEqual(cpus(ensureManager(ENSURE_PUBLISHED), long), [1000, 1000, 2000]);
});

test('without headroom CPU falls by a step, never below the least', (t) => {
  const price = { cpu: 0.2, memory: 0 };
  const steps = [latencies(20, 100), { ...latencies(20, 500), price }];
  // 1000 - 500; published: one core is the least.
  t.deepEqual(cpus(ensureManager(ENSURE_DEFAULT), steps), [1000, 500]);
  t.deepEqual(cpus(ensureManager(ENSURE_PUBLISHED), steps), [1000, 1000]);
});

test('cold starts do not count as degradation, and memory stays the user’s', (t) => {
  // Sum 3000, of which two inits of 500: the runs took 100 each.
  const cold = { ...latencies(20, 150), coldStarts: 2, initTime: 500 as never };
  const { decisions } = play(ensureManager(ENSURE_DEFAULT), [latencies(20, 100), cold]);
  t.deepEqual(
    decisions.map((d) => [d.cpu, d.memory, d.actions[1]]),
    [
      [1000, 268435456, 0],
      [1000, 268435456, 0],
    ],
  );
});

test('of cold starts whose init was not seen none is subtracted', (t) => {
  // One init of 500 of ten cold starts: 20 x 150 - 500 = 2500 in 20 runs is 125 each, above
  // 1.1 x 100. Ten inits would be more than all.
  const cold = { ...latencies(20, 150), coldStarts: 10, inits: 1, initTime: 500 as never };
  t.deepEqual(cpus(ensureManager(ENSURE_DEFAULT), [latencies(20, 100), cold]), [1000, 1500]);
});
