import test from 'ava';
import { simulateCluster } from '../../../simulator/engine/index.js';
import { fn, optionsOf, type Scene, streamOf } from './scene.js';

// Queues whose means are known. Seeds are fixed, so nothing here can fail by chance; runs are long
// enough that 2 % is several standard deviations (of the mean response of M/M/1 at load .6 after
// 400,000 activations: 0.6 %).

const ACTIVATIONS = 400_000;

function meanResponseMs(scene: Scene): number {
  const { responseMs, activations } = simulateCluster({
    ...optionsOf(scene),
    activations: streamOf(scene),
  });
  if (activations !== ACTIVATIONS) throw new Error(`${activations} activations`);
  return responseMs.mean;
}

const poisson = (ratePerSecond: number) => ({ ratePerSecond, seconds: 3600 });
const service = (mean: number) => ({ profile: { cpuMs: { exponential: { mean } } } });
const near = (value: number, theory: number): boolean => Math.abs(value / theory - 1) < 0.02;

test('M/M/1: one container, first come first served', (t) => {
  // Service 100 ms, 6 a second: load .6. Mean response = service / (1 - load) = 250 ms.
  const mean = meanResponseMs({
    functions: [fn('a', poisson(6), service(100))],
    stream: ACTIVATIONS,
    cluster: { userMemoryMiB: 128, idleMs: 1e9, pauseGraceMs: 1e9 },
  });
  t.true(near(mean, 250), `${mean}`);
});

test('M/M/c: four containers on four cores', (t) => {
  // Service 100 ms, 28 a second on 4: load .7, a = 2.8. Erlang C: a^c/c! / ((1 - load) sum_{k<c}
  // a^k/k! + a^c/c!)
  const a = 2.8;
  const top = a ** 4 / 24;
  const waits = top / (0.3 * (1 + a + a ** 2 / 2 + a ** 3 / 6) + top);
  // Mean wait = C x service / (c (1 - load)).
  const theory = 100 + (waits * 100) / (4 * 0.3);
  const mean = meanResponseMs({
    functions: [fn('a', poisson(28), service(100))],
    stream: ACTIVATIONS,
    cluster: { cores: 4, userMemoryMiB: 512, idleMs: 1e9, pauseGraceMs: 1e9 },
  });
  t.true(near(mean, theory), `${mean} instead of ${theory}`);
});

test('M/G/1 processor sharing: the mean does not see how services are spread', (t) => {
  // Three of four activations take 50 ms, one 250: mean 100. 6 a second: load .6. Mean response =
  // mean service / (1 - load) = 250.
  const cpuMs = {
    quantiles: [
      [0, 50],
      [0.75, 50],
      [0.7500001, 250],
      [1, 250],
    ] as [number, number][],
  };
  const mean = meanResponseMs({
    functions: [fn('a', poisson(6), { profile: { cpuMs } })],
    stream: ACTIVATIONS,
    cluster: { userMemoryMiB: 1_000_000, pauseGraceMs: 1e9 },
  });
  t.true(near(mean, 250), `${mean}`);
});

test('Little’s law: as many in the system as arrive a second x the time they stay', (t) => {
  // The number in the system is looked at 20,000 times; arrivals do not see it, so it is an average
  // over time.
  const scene: Scene = {
    functions: [
      fn('a', poisson(20), service(60)),
      fn('b', poisson(5), { profile: { cpuMs: 200, ioMs: 300, parallelism: 2 } }),
    ],
    stream: 200_000,
    seriesBuckets: 20_000,
    cluster: { hosts: 2, cores: 2, userMemoryMiB: 2048 },
  };
  const { series, responseMs, spanMs } = simulateCluster({
    ...optionsOf(scene),
    activations: streamOf(scene),
  });
  const inSystem = series.running.map((running, i) => running + series.waiting[i]!);
  const mean = inSystem.reduce((sum, count) => sum + count, 0) / inSystem.length;
  const theory = (200_000 / spanMs) * responseMs.mean;
  t.true(near(mean, theory), `${mean} instead of ${theory}`);
});
