import test from 'ava';
import { predict as predictFidelity } from '../../bench/fidelity/predict.js';
import { cpuOf, profileOf } from '../../bench/fidelity/profile.js';

const near = (actual: number, expected: number): boolean => Math.abs(actual - expected) < 1e-6;

test('a profile separates requested work from overhead, and threads from waits', (t) => {
  // Two threads: CPU = 1.1 x demand + 10, duration = half of the CPU time and 20 ms of waiting.
  const solo = [50, 100, 200].map((demandMs) => {
    const cpuMs = 1.1 * demandMs + 10;
    return { demandMs, cpuMs, runMs: cpuMs / 2 + 20 };
  });
  const profile = profileOf(solo, 4);
  t.true(near(profile.cpuPerDemand, 1.1));
  t.true(near(profile.parallelism, 2));
  for (const i of [0, 1, 2]) {
    t.true(near(profile.extraMs[i]!, 10));
    t.true(near(profile.ioMs[i]!, 20));
    t.true(near(cpuOf(profile, 300, i), 340));
  }
  // 1.1 busy cores are one thread and its runtime's second, not two.
  const single = profileOf(
    solo.map(({ demandMs }) => ({ demandMs, cpuMs: 1.1 * demandMs, runMs: demandMs })),
    0,
  );
  t.is(single.parallelism, 1);
});

test('a prediction counts activations that arrived, not those that made the containers', (t) => {
  // One thread of 100 ms alone every second, beside nothing: each lasts 100 ms of work and 5 of
  // waiting.
  const subject = {
    name: 'f',
    memoryMb: 128,
    body: 'cpu',
    payload: {},
    cpuMs: 100,
    rate: 1,
  } as const;
  const profile = { parallelism: 1, cpuPerDemand: 1, extraMs: [0], ioMs: [5], besideMs: 0 };
  const action = { namespace: 'guest', name: 'f', version: '0.0.1', code: '', main: 'main' };
  const arrivals = [0, 1000, 2000].map((atMs) => ({ atMs, action, payload: { cpuMs: 100 } }));
  const condition = { mode: 'weight', manager: 'fixed', arrivals } as const;
  t.deepEqual(
    predictFidelity([subject], new Map([['f', profile]]), condition, 1).get('f'),
    [105, 105, 105],
  );
});

test('in quota mode a prediction is throttled as the kernel throttles', (t) => {
  // Half a core is 50 ms in each period of 100 ms. With r of a period left: r >= 50 is 50 ms of
  // work, a wait of r - 50 and 50 ms of work, so 50 + r in all; r < 50 is r of work, 50 of work and
  // 50 of waiting, then 50 - r of work: 150. Between 100 and 150 in either case.
  const subject = {
    name: 'f',
    memoryMb: 128,
    cpus: 0.5,
    body: 'cpu',
    payload: {},
    cpuMs: 100,
    rate: 1,
  } as const;
  const profile = { parallelism: 1, cpuPerDemand: 1, extraMs: [0], ioMs: [0], besideMs: 0 };
  const action = {
    namespace: 'guest',
    name: 'f',
    version: '0.0.1',
    code: '',
    main: 'main',
    cpus: 0.5,
  };
  const arrivals = [0, 1000].map((atMs) => ({ atMs, action, payload: { cpuMs: 100 } }));
  const condition = { mode: 'quota', manager: 'fixed', arrivals } as const;
  for (const run of predictFidelity([subject], new Map([['f', profile]]), condition, 1).get('f')!)
    t.true(run >= 100 && run <= 150.001, `${run}`);
});
