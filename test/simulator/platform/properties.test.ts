import { createHash } from 'node:crypto';
import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { isThrottled } from '../../../simulator/engine/bucket.js';
import { timeUnderQuota } from '../../../simulator/engine/cfs.js';
import { ActivationLog, ClusterOutcome, OnCore } from '../../../simulator/engine/index.js';
import { SimPlatform } from '../../../simulator/platform/index.js';
import { azureTen, planWorkload } from '../../../simulator/workload/index.js';
import { cores, fn, runToEnd, scene } from './scene.js';

const activation = fc.record({
  at: fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 8 }),
  cpu: fc.integer({ min: 0, max: 700 }),
  io: fc.integer({ min: 0, max: 100 }),
  parallelism: fc.constantFrom(0.3, 1, 2, 5),
  quota: fc.constantFrom(null, 100, 500, 1500),
  memory: fc.constantFrom(128, 256, 512),
  init: fc.integer({ min: 0, max: 100 }),
});

testProp(
  'all work is done within cores and memory, and each activation ends once',
  [
    fc.array(activation, { minLength: 1, maxLength: 6 }),
    fc.constantFrom(1, 2, 4),
    fc.integer({ min: 0, max: 1000 }),
  ],
  async (t, planned, coreCount, change) => {
    const s = await scene(
      planned.map(({ at, cpu, io, parallelism, quota, memory, init }, i) =>
        fn(`f${i}`, at, cpu, {
          userCpuMillicores: quota,
          memoryMiB: memory,
          timeoutMs: 3_600_000,
          profile: { parallelism, ioMs: io, initMs: init, coldStartMs: 30 },
        }),
      ),
      { cores: coreCount, userMemoryMiB: 1024 },
    );
    const { platform } = s;
    // Limits change all the time, up and down.
    let turn = change;
    s.platform.timers.every(37 as never, () => {
      if (s.containers.length === 0) return;
      const handle = s.limits(turn++ % s.containers.length);
      handle.setShares(2 + ((turn * 997) % 2000));
      handle.setQuota(cores(turn % 3 === 0 ? 0 : 0.05 + (turn % 17) / 5));
    });
    const { activations, balancer, containers, cores: processor } = platform.cluster;
    const c = activations.columns;
    while (!platform.finished) {
      platform.run(platform.nextAt);
      let busy = 0;
      for (let a = 0; a < activations.high; a++)
        if (c.onCore[a] !== OnCore.not && !isThrottled(c, a)) busy += processor.rate(a);
      t.true(busy <= coreCount + 1e-6, `${busy}`);
      // What the balancer forces on a full host may exceed it.
      t.true(balancer.forced > 0 || containers.admitted[0]! <= 1024);
    }
    for (const { activation: index, fn: f, outcome, cpu } of s.ended) {
      const { parallelism, cpu: work, io } = planned[f]!;
      t.is(outcome, ClusterOutcome.success);
      t.true(Math.abs(cpu - work * 1000) < 1e-3, `${cpu} of ${work}`);
      const alone = work / Math.min(parallelism, coreCount) + io;
      t.true(s.execution(index) >= alone - 0.001);
      t.true(s.response(index) >= s.execution(index));
    }
    const count = planned.reduce((sum, { at }) => sum + at.length, 0);
    t.is(s.ended.length, count);
    t.is(s.log.filter((line) => line.includes('ended')).length, count);
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
    s.runToEnd();
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
  const { functions } = azureTen();
  const s = await scene(functions, { cores: 2, userMemoryMiB: 2048, seed });
  s.platform.run(600_000_000);
  return createHash('sha256').update(s.log.join('\n')).digest('hex');
}

test('one seed, one run, to the byte', async (t) => {
  const first = await fingerprint(7);
  t.is(await fingerprint(7), first);
  t.not(await fingerprint(8), first);
});

test('nothing of a run depends on how it is cut into steps', (t) => {
  const plan = planWorkload(azureTen());
  const whole = new ActivationLog();
  runToEnd(new SimPlatform(plan, { recorder: whole }));
  const cut = new ActivationLog();
  const platform = new SimPlatform(plan, { recorder: cut });
  for (let until = 0; !platform.finished; until += 9_973) platform.run(until);
  t.deepEqual(cut.activations, whole.activations);
});
