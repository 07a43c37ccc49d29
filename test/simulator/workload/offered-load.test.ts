import test from 'ava';
import { mean } from '../../../simulator/workload/distribution.js';
import {
  checkWorkload,
  describeScaling,
  expectedLoad,
  openWorkload,
  planWorkload,
  scaleToLoad,
} from '../../../simulator/workload/index.js';
import type { WorkloadInput } from '../../../simulator/workload/workload.js';

const PROFILE = { parallelism: 1, cpuMs: 100, memory: { baseMiB: 40, peakMiB: 60 } };

function workload(
  fn: Partial<WorkloadInput['functions'][number]>,
  changes: Partial<WorkloadInput> = {},
) {
  const f = {
    name: '/guest/f',
    memoryMiB: 256,
    profile: PROFILE,
    arrivals: { perMinute: [60] },
    ...fn,
  };
  return checkWorkload({ version: 1, name: 'test', functions: [f], ...changes });
}

test('means of distributions, by their formulas', (t) => {
  const near = (value: number, expected: number) =>
    t.true(Math.abs(value / expected - 1) < 1e-12, `${value}`);
  near(mean(7), 7);
  near(mean({ exponential: { mean: 8 } }), 8);
  near(mean({ lognormal: { median: 20, sigma: 0.5 } }), 20 * Math.exp(0.125));
  // 10 to 40 geometrically for half of the activations: 30 / ln 4; then 40.
  const quantiles: [number, number][] = [
    [0, 10],
    [0.5, 40],
    [1, 40],
  ];
  near(mean({ quantiles }), 0.5 * (30 / Math.log(4)) + 0.5 * 40);
  // From 0 it is straight.
  const ramp: [number, number][] = [
    [0, 0],
    [1, 8],
  ];
  near(mean({ quantiles: ramp }), 4);
});

test('offered load is activations x CPU work over cores x span', (t) => {
  // 60 activations of 100 ms in 60 s: a tenth of a core.
  t.is(expectedLoad(workload({}), 1), 0.1);
  t.is(expectedLoad(workload({}), 4), 0.025);
  // Payload: E[s^2] = 2^2 x exp((2 x .5)^2 / 2).
  const payload = { median: 2, sigma: 0.5, cpu: 2, memory: 0 };
  const expected = 0.1 * 4 * Math.exp(0.5);
  t.true(
    Math.abs(expectedLoad(workload({ profile: { ...PROFILE, payload } }), 1) / expected - 1) <
      1e-12,
  );
  // Played four times as fast.
  t.is(expectedLoad(workload({}, { compression: { time: 4 } }), 1), 0.4);
});

test('compressed durations: the load is what activations drawn add up to', (t) => {
  const compression = { time: 10, duration: 10, aboveMs: 1000, floorMs: 300 };
  const profile = {
    ...PROFILE,
    cpuMs: { lognormal: { median: 800, sigma: 1 } },
    ioMs: { exponential: { mean: 200 } },
    payload: { sigma: 0.3, cpu: 1, memory: 0 },
  };
  const made = workload(
    { profile, arrivals: { perMinute: Array.from({ length: 200 }, () => 100) } },
    { compression },
  );
  const { cpu, spanMicros } = planWorkload(made);
  const drawn = cpu.reduce((sum, micros) => sum + micros, 0) / (spanMicros * 8);
  // 20,000 draws whose deviation is about their mean: 1 % is 1.4 standard errors or more; 3 %
  // stands.
  t.true(Math.abs(expectedLoad(made, 8) / drawn - 1) < 0.03, `${expectedLoad(made, 8)} ${drawn}`);
});

test('scaling to a load multiplies the gaps and leaves durations as they are', (t) => {
  const { workload: sample } = openWorkload('azure-sample');
  const cores = 24;
  const before = expectedLoad(sample, cores);
  const scaled = scaleToLoad(sample, { load: 0.7, cores });
  t.true(Math.abs(scaled.after - 0.7) < 1e-6);
  t.true(Math.abs(scaled.workload.compression.time - 0.7 / before) < 1e-12);
  t.is(scaled.before, before);
  // Thousands of functions are not copied.
  t.is(scaled.workload.functions, sample.functions);
  t.is(
    describeScaling({ ...scaled, factor: 3.58274, before: 2.508, after: 0.7 }),
    'offered load 0.700 on 24 cores (gaps between activations x 3.583; 2.508 before; durations ' +
      'as recorded)',
  );
});

test('a workload that cannot be scaled to a load is refused', (t) => {
  const made = workload({});
  t.throws(() => scaleToLoad(made, { load: 0, cores: 1 }), { message: /cannot be scaled/ });
  const silent = workload({ arrivals: { perMinute: [0] } });
  t.throws(() => scaleToLoad(silent, { load: 0.7, cores: 1 }), { message: /cannot be scaled/ });
});
