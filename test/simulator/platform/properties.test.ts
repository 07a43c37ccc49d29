import { createHash } from 'node:crypto';
import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { SimHost } from '../../../simulator/platform/host.js';
import { timeUnderQuota } from '../../../simulator/platform/index.js';
import { hostOptions } from '../../../simulator/platform/options.js';
import { planWorkload, shippedWorkload } from '../../../simulator/workload/index.js';
import { cores, fn, scene } from './scene.js';

const call = fc.record({
  at: fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 8 }),
  cpu: fc.integer({ min: 0, max: 700 }),
  io: fc.integer({ min: 0, max: 100 }),
  parallelism: fc.constantFrom(0.3, 1, 2, 5),
  quota: fc.constantFrom(null, 100, 500, 1500),
  memory: fc.constantFrom(128, 256, 512),
  init: fc.integer({ min: 0, max: 100 }),
});

testProp(
  'work done is work asked, cores and memory are never exceeded, and each activation ends once, whatever limits do',
  [
    fc.array(call, { minLength: 1, maxLength: 6 }),
    fc.constantFrom(1, 2, 4),
    fc.integer({ min: 0, max: 1000 }),
  ],
  async (t, calls, coreCount, change) => {
    const s = await scene(
      calls.map(({ at, cpu, io, parallelism, quota, memory, init }, i) =>
        fn(`f${i}`, at, cpu, {
          userCpuMillicores: quota,
          memoryMiB: memory,
          timeoutMs: 3_600_000,
          profile: { parallelism, ioMs: io, initMs: init, coldStartMs: 30 },
        }),
      ),
      { cores: coreCount, userMemoryMiB: 1024 },
    );
    const { host } = s.platform;
    // Limits change all the time, up and down.
    let turn = change;
    s.platform.timers.every(37 as never, () => {
      if (s.containers.length === 0) return;
      const handle = s.limits(turn++ % s.containers.length);
      handle.setShares(2 + ((turn * 997) % 2000));
      handle.setQuota(cores(turn % 3 === 0 ? 0 : 0.05 + (turn % 17) / 5));
    });
    while (!host.finished) {
      host.run(host.nextAt);
      t.true(host.cpu.busyCores <= coreCount + 1e-9);
      t.true(host.admitted <= host.options.userMemoryBytes);
    }
    const { plan, results } = host;
    let alone = 0;
    for (let i = 0; i < plan.count; i++) {
      t.is(results.outcome[i], 1);
      t.true(
        Math.abs(results.cpu[i]! - plan.cpu[i]!) < 1e-3,
        `${results.cpu[i]} of ${plan.cpu[i]}`,
      );
      const parallelism = calls[plan.fn[i]!]!.parallelism;
      alone = plan.cpu[i]! / Math.min(parallelism, coreCount) + plan.io[i]!;
      t.true(results.execution(i) >= alone - 1);
      t.true(results.response(i) >= results.execution(i));
    }
    t.is(s.log.filter((line) => line.includes('ended')).length, plan.count);
    t.is(host.arrived, plan.count);
  },
  { numRuns: 60 },
);

testProp(
  'a container alone on its host takes as long as the closed form of its quota says',
  [fc.integer({ min: 1, max: 900 }), fc.integer({ min: 20, max: 3000 }), fc.constantFrom(1, 2, 3)],
  async (t, cpu, quota, parallelism) => {
    const s = await scene(
      [fn('a', [0], cpu, { userCpuMillicores: quota, profile: { parallelism } })],
      { cores: 4 },
    );
    s.platform.host.runToEnd();
    // us; each period may round up by one.
    const expected = timeUnderQuota(cpu * 1000, parallelism, quota * 100, 100_000);
    t.true(
      Math.abs(s.response(0) * 1000 - expected) <= 2,
      `${s.response(0)} against ${expected / 1000}`,
    );
  },
);

/** All that engine and tap say in a run of the shipped workload at fixed limits, as one hash. */
async function fingerprint(seed: number): Promise<string> {
  const { functions } = shippedWorkload();
  const s = await scene(functions, { cores: 2, userMemoryMiB: 2048, seed });
  s.platform.host.run(600_000_000);
  return createHash('sha256').update(s.log.join('\n')).digest('hex');
}

test('one seed, one run, to the byte', async (t) => {
  const first = await fingerprint(7);
  t.is(await fingerprint(7), first);
  t.not(await fingerprint(8), first);
});

test('nothing of a run depends on how it is cut into steps', (t) => {
  const workload = shippedWorkload();
  const plan = planWorkload(workload);
  const whole = new SimHost(plan, hostOptions(workload));
  whole.runToEnd();
  const cut = new SimHost(plan, hostOptions(workload));
  for (let until = 0; !cut.finished; until += 9_973) cut.run(until);
  t.deepEqual(cut.results.ended, whole.results.ended);
});

test('processor sharing of exponential calls at load .7 has the mean response time theory says', (t) => {
  // M/M/1 processor sharing: E[T] = s / (1 - load) = 10 / .3 = 33.3 ms. Plenty of warm containers:
  // only the first calls start cold.
  const workload = {
    ...shippedWorkload(),
    draws: 'independent' as const,
    host: { count: 1, cores: 1, memoryMiB: 1_000_000, userMemoryMiB: 900_000 },
    functions: [
      {
        ...shippedWorkload().functions[0]!,
        userCpuMillicores: null,
        memoryMiB: 128,
        profile: {
          ...shippedWorkload().functions[0]!.profile,
          parallelism: 1,
          cpuMs: { exponential: { mean: 10 } },
          ioMs: 0,
          initMs: 0,
          coldStartMs: 0,
          memory: { baseMiB: 10, peakMiB: 10, growth: 0, retained: 0 },
        },
        arrivals: { ratePerSecond: 70, seconds: 4000, within: 'poisson' as const },
      },
    ],
    compression: { time: 1, duration: 1, aboveMs: 1000, floorMs: 300 },
  };
  const plan = planWorkload(workload, 5);
  const host = new SimHost(plan, hostOptions(workload));
  host.runToEnd();
  let sum = 0;
  for (let i = 0; i < plan.count; i++) sum += host.results.response(i) / 1000;
  const mean = sum / plan.count;
  t.true(Math.abs(mean / (10 / 0.3) - 1) < 0.04, `${mean} ms`);
});
