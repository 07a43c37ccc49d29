import test from 'ava';
import type { Decision, ResourceManager, View } from '../../../agents/index.js';
import { type Bytes, defaultConfig, MIB, type Millicores } from '../../../config/index.js';
import { simulateCluster } from '../../../simulator/engine/index.js';
import { ClusterOutcome } from '../../../simulator/engine/recorder.js';
import type { ActivationBlock } from '../../../simulator/workload/index.js';
import { at, endsMs, fn, optionsOf, play, type Scene, streamOf } from './scene.js';

/** No control arm: every activation is the safeguard's. */
const noArm = { controlShare: 0 };

/** Sets the same target at every step and records the views it was given. */
function targetSetter(
  target: Omit<Decision, 'actions'>,
  views: View[] = [],
): ResourceManager<null> {
  return {
    name: 'targetSetter',
    initialState: () => null,
    phase: () => 'managing',
    decide(_state, view) {
      views.push(view);
      return { state: null, decision: { ...target, actions: [0, 0, 0] } };
    },
  };
}

test('what a function never uses is harvested, and no activation is slower', (t) => {
  // A user's 2 cores, one is used: after the first activation the range begins at max(1000 + 5 % of
  // 2000, 1000 / .75) = 1333.3 millicores. Two of three activations of .5 s leave 666.7 millicores
  // each: 2 x 333.3 CPU-ms.
  const { summary, activations } = play({
    functions: [fn('f', at(0, 1000, 2000), { userCpuMillicores: 2000, profile: { cpuMs: 500 } })],
    mode: 'quota',
    cluster: { cores: 2 },
    quotaPolicy: 'smallest-in-range',
    decision: noArm,
  });
  t.deepEqual(endsMs(activations), [500, 1500, 2500]);
  t.true(
    Math.abs(summary.harvest.harvestedCoreSeconds - 2 / 3) < 1e-6,
    `${summary.harvest.harvestedCoreSeconds}`,
  );
  t.is(summary.harvest.harvestedShare, 2 / 3);
  t.true(Math.abs(summary.perFunction[0]!.harvested - 2 / 3) < 1e-6);
  t.is(summary.harvest.trips, 0);
});

test('a lowered limit that is used up is restored 50 ms into the run', (t) => {
  // One core. Weights go by memory, 128 to 1024 MiB: beside b, a has a ninth of the core for its
  // 200 core-ms, so a's peak is 111.1 millicores. Its next call is granted max(111.1 + 50, 111.1 /
  // .75) = 161.1: 16.11 core-ms a period, used up after 16.11 ms. The first window that counts ends
  // at 50.001 ms with 16.11 core-ms = 322 millicores, above .8 x 161: the user's whole core for the
  // other 183.889 core-ms.
  const { summary, activations } = play({
    functions: [
      fn('a', at(0, 10_000), { userCpuMillicores: 1000, profile: { cpuMs: 200 } }),
      fn('b', at(0), { memoryMiB: 1024, userCpuMillicores: 1000, profile: { cpuMs: 4000 } }),
    ],
    mode: 'quota',
    quotaPolicy: 'smallest-in-range',
    weightPolicy: 'memory',
    decision: noArm,
  });
  t.is(summary.harvest.trips, 1);
  t.deepEqual(endsMs(activations), [1800, 4200, 10_233.89]);
});

test('who was cut by the own limit borrows what is free', (t) => {
  // Half a core of two: 200 core-ms take three periods of 50 and 50 more, 350 ms: a peak of 571.4.
  // The range then begins at
  // 571.4 / .75 = 761.9, 261.9 of it borrowed: two periods of 76.19 core-ms and 47.62 ms more.
  const { summary, activations } = play({
    functions: [fn('f', at(0, 1000), { userCpuMillicores: 500, profile: { cpuMs: 200 } })],
    mode: 'quota',
    cluster: { cores: 2 },
    quotaPolicy: 'smallest-in-range',
    decision: noArm,
  });
  const [first, second] = endsMs(activations);
  t.is(first, 350);
  t.true(Math.abs(second! - 1247.619) < 0.002, `${second}`);
  const { harvest } = summary;
  // 807.7 millicores on average over 247.6 ms are 76.2 CPU-ms above the user's 500.
  t.true(
    Math.abs(harvest.acceleratedCoreSeconds - 0.0761905) < 1e-5,
    `${harvest.acceleratedCoreSeconds}`,
  );
  t.true(
    Math.abs(harvest.borrowedCoreSeconds - 0.261905 * 0.247619) < 1e-5,
    `${harvest.borrowedCoreSeconds}`,
  );
  t.is(harvest.borrowedShare, 0.5);
});

test('a step closes after its activations, and the target is in force after a delay', (t) => {
  const views: View[] = [];
  // The second activation ends at 1.5 s; a target of 1500 millicores lies inside 1333..2000, so the
  // four activations from 2 s on leave 500 each.
  const { summary } = play({
    functions: [
      fn('f', at(0, 1000, 2000, 3000, 4000, 20_000), {
        userCpuMillicores: 2000,
        profile: { cpuMs: 500 },
      }),
    ],
    mode: 'quota',
    cluster: { cores: 2 },
    manager: targetSetter({ cpu: 1500 as Millicores }, views),
    decision: noArm,
    control: { stepActivations: 2, delayMs: 499 },
  });
  t.is(summary.manager, 'targetSetter');
  t.is(summary.quotaPolicy, 'target');
  t.true(
    Math.abs(summary.harvest.harvestedCoreSeconds - 1) < 1e-6,
    `${summary.harvest.harvestedCoreSeconds}`,
  );
  const [step] = views;
  t.is(step?.observation.activations, 2);
  t.is(step?.observation.observedAt as number, 1500);
  t.is(step?.observation.granted.cpu.mean as number, 2000);
  t.is(step?.observation.used.cpu as number, 1000);
  t.is(step?.observation.user.cpu as number, 2000);
  t.is(step?.observation.containers, 1);
  // The fifth activation is a step of its own, closed 10 s after it has ended.
  t.is(views[2]?.observation.observedAt as number, 14_500);
});

test('a target that comes later than it takes to be stale is none', (t) => {
  const { summary } = play({
    functions: [fn('f', at(0, 1000, 2000), { userCpuMillicores: 2000, profile: { cpuMs: 500 } })],
    mode: 'quota',
    cluster: { cores: 2 },
    manager: targetSetter({ cpu: 1500 as Millicores }),
    decision: noArm,
    control: { stepActivations: 1, delayMs: 20, staleMs: 400 },
  });
  t.is(summary.harvest.harvestedCoreSeconds, 0);
});

test('without another setting a target is stale after as long as in a hook', (t) => {
  const harvested = (secondCallAt: number) =>
    play({
      functions: [
        fn('f', at(0, secondCallAt), { userCpuMillicores: 2000, profile: { cpuMs: 500 } }),
      ],
      mode: 'quota',
      cluster: { cores: 2 },
      manager: targetSetter({ cpu: 1500 as Millicores }),
      decision: noArm,
      control: { stepActivations: 1 },
    }).summary.harvest.harvestedCoreSeconds;
  // The first activation is observed when it ends, at .5 s; the second one waits 20 ms for
  // unpausing.
  const { targetStaleMs } = defaultConfig.decision;
  t.true(harvested(480 + targetStaleMs) > 0);
  t.is(harvested(481 + targetStaleMs), 0);
});

test('a memory peak on one host counts on another when a target names it', (t) => {
  // Each host has memory for one container. The first host sees 400 MiB twice, the second one
  // 100 MiB, which would mean a limit of 191 MiB there for an activation that needs 390.
  const scene: Scene = {
    functions: [
      fn('f', at(0, 1000, 1000, 2000, 2000), {
        memoryMiB: 512,
        profile: { memory: { baseMiB: 30, peakMiB: 100, growth: 0.5, retained: 0 } },
      }),
    ],
    cluster: { hosts: 2, cores: 2, userMemoryMiB: 512 },
    manager: targetSetter({}),
    quotaPolicy: 'smallest-in-range',
    decision: { ...noArm, memoryPolicy: 'faasrm', midRun: false },
    control: { stepActivations: 1 },
  };
  const stream = streamOf(scene);
  const peaks = [400, 400, 100, 400, 390];
  const fill = (block: ActivationBlock): number => {
    const count = stream.fill(block);
    for (let i = 0; i < count; i++) block.peak[i] = peaks[i]! * MIB;
    return count;
  };
  const { oomKills, activations } = simulateCluster({
    ...optionsOf(scene),
    activations: { ...stream, fill },
  });
  t.is(activations, 5);
  t.is(oomKills, 0);
});

test('managers see the others and the price of their host: demand over capacity', (t) => {
  const views: View[] = [];
  const times = Array.from({ length: 500 }, (_, i) => i * 50);
  // Two functions ask for their users' two cores, 40 of 50 ms, on two cores: occupancy 1.6, price
  // .6. Too short for a peak, so that the safeguard lowers nothing.
  play({
    functions: ['f', 'g'].map((name) =>
      fn(name, at(...times), { userCpuMillicores: 2000, profile: { cpuMs: 40 } }),
    ),
    mode: 'quota',
    cluster: { cores: 2 },
    manager: targetSetter({}, views),
    decision: noArm,
    control: { stepActivations: 20 },
  });
  const before = views.filter(({ observation }) => observation.observedAt < 10_000);
  const after = views.filter(({ observation }) => observation.observedAt > 10_000);
  t.is(before.length, 20);
  t.true(before.every(({ others, price }) => others === null && price === null));
  t.true(after.length > 0);
  for (const { observation, others, price, invoker } of after) {
    t.is(others?.members, 1);
    t.true(Math.abs(price!.cpu - 0.6) < 0.01, `${price!.cpu}`);
    // Known from the second report on; two cores suffice.
    t.is(invoker?.pressure, observation.observedAt < 20_000 ? undefined : 0);
    t.true(invoker!.weights! > 0);
  }
});

test('a manager that wants containers gets them made, and no more than it wants', (t) => {
  const { summary, activations } = play({
    functions: [
      // Known after the first activation; then three at once, and four at once.
      fn('f', at(0, 20_000, 20_000, 20_000, 30_000, 30_000, 30_000, 30_000), {
        profile: { cpuMs: 100, coldStartMs: 500 },
      }),
    ],
    cluster: { cores: 4 },
    manager: targetSetter({ containers: 3 }),
    decision: noArm,
    control: { stepActivations: 1, staleMs: 60_000 },
  });
  t.is(summary.starts.cold, 1);
  t.is(summary.starts.warm, 7);
  // Unpausing takes 20 ms after 10 s; the fourth of four waits for one of the three.
  t.deepEqual(
    endsMs(activations).slice(1),
    [20_120, 20_120, 20_120, 30_100, 30_100, 30_100, 30_200],
  );
});

test('a new nominal memory is a new revision: old containers serve no activation', (t) => {
  const { summary, activations } = play({
    functions: [
      fn('f', at(0, 1000, 2000), { memoryMiB: 256, profile: { cpuMs: 100, coldStartMs: 500 } }),
    ],
    cluster: { userMemoryMiB: 512 },
    manager: targetSetter({ nominalMemory: (128 * MIB) as Bytes }),
    decision: noArm,
    control: { stepActivations: 1 },
  });
  t.is(summary.starts.cold, 2);
  t.deepEqual(endsMs(activations), [600, 1600, 2100]);
});

test('idle containers of an old revision hold their memory until they are evicted', (t) => {
  // 512 MiB: f's old container of 256 and its new one of 128 from 1000 on. g needs 256 at 3000,
  // for which the old one, which was used first, goes: f stays warm at 4000.
  const { activations } = play({
    functions: [
      fn('f', at(0, 1000, 4000), { memoryMiB: 256, profile: { cpuMs: 100, coldStartMs: 500 } }),
      fn('g', at(3000), { memoryMiB: 256, profile: { cpuMs: 100, coldStartMs: 500 } }),
    ],
    cluster: { userMemoryMiB: 512 },
    manager: targetSetter({ nominalMemory: (128 * MIB) as Bytes }),
    decision: noArm,
    control: { stepActivations: 1 },
  });
  t.deepEqual(endsMs(activations), [600, 1600, 3600, 4100]);
});

test('a smaller action survives a peak if the host has memory beyond user-memory', (t) => {
  // f has 128 of its user's 256 MiB from its second activation on, and its third activation needs
  // 200.
  const run = (memoryMiB: number) => {
    const scene: Scene = {
      functions: [
        fn('f', at(0, 1000, 2000), {
          memoryMiB: 256,
          profile: { memory: { baseMiB: 30, peakMiB: 100, growth: 0.5, retained: 0 } },
        }),
      ],
      cluster: { userMemoryMiB: 512, memoryMiB, systemMemoryMiB: 0 },
      manager: targetSetter({ nominalMemory: (128 * MIB) as Bytes }),
      decision: { ...noArm, memoryReserve: 0 as Bytes },
      control: { stepActivations: 1 },
    };
    const stream = streamOf(scene);
    const fill = (block: ActivationBlock): number => {
      const count = stream.fill(block);
      if (count > 0) block.peak[2] = 200 * MIB;
      return count;
    };
    return simulateCluster({ ...optionsOf(scene), activations: { ...stream, fill } });
  };
  t.is(run(512).oomKills, 1);
  t.is(run(1024).oomKills, 0);
});

test('idle containers of an old revision do not count against the cap of the new one', (t) => {
  const { activations } = play({
    functions: [
      fn('f', at(0, 1000, 2000), { memoryMiB: 256, profile: { cpuMs: 100, coldStartMs: 500 } }),
    ],
    extras: { 0: { maxContainers: 1 } },
    cluster: { userMemoryMiB: 512 },
    manager: targetSetter({ nominalMemory: (128 * MIB) as Bytes }),
    decision: noArm,
    control: { stepActivations: 1 },
  });
  t.deepEqual(endsMs(activations), [600, 1600, 2100]);
});

test('under `faasrm` memory too is lowered, and given back before it is too little', (t) => {
  // Peaks of 100 of 512 MiB, reached from 30 within runs of 100 ms: .7 MiB a ms, which must fit
  // into the 130 ms a raise may take. So from the second activation on the limit is 100 + 91 = 191
  // MiB. The fifth activation grows to 200 MiB: at .8 x 191 it gets the user's limit back. Without
  // the safeguard it is killed.
  const run = (midRun: boolean) => {
    const scene: Scene = {
      functions: [
        fn('f', at(0, 1000, 2000, 3000, 4000), {
          memoryMiB: 512,
          profile: { memory: { baseMiB: 30, peakMiB: 100, growth: 0.5, retained: 0 } },
        }),
      ],
      decision: { ...noArm, memoryPolicy: 'faasrm', midRun },
      quotaPolicy: 'smallest-in-range',
    };
    const stream = streamOf(scene);
    const fill = (block: ActivationBlock): number => {
      const count = stream.fill(block);
      if (count > 0) block.peak[4] = 200 * MIB;
      return count;
    };
    return simulateCluster({ ...optionsOf(scene), activations: { ...stream, fill } });
  };
  const guarded = run(true);
  t.is(guarded.oomKills, 0);
  t.is(guarded.harvest.trips, 1);
  t.is(run(false).oomKills, 1);
});

test('a policy that changes its mind in the middle of a run is asked at the work it named', (t) => {
  // sfs: a run's first slice of CPU comes first. One core: a has run alone for 1 s when b's 10 ms
  // come and go first.
  const { activations } = play({
    functions: [
      fn('a', at(0), { profile: { cpuMs: 2000 } }),
      fn('b', at(1000), { profile: { cpuMs: 10 } }),
    ],
    weightPolicy: 'sfs',
    decision: noArm,
  });
  const [a, b] = endsMs(activations);
  t.true(b! < 1011, `${b}`);
  // Instants are whole microseconds.
  t.true(a! >= 2010 && a! <= 2010.002, `${a}`);
});

test('an init of many seconds is not starved by raised weights', (t) => {
  // One core and room for two containers, of which `short` always runs. Its policy gives it 25
  // times its weight: five times its mean, squared. Ten seconds of boost, then the same weight.
  const initMillis = (weightPolicy: string): number => {
    const { activations } = play({
      functions: [
        fn('short', at(...Array.from({ length: 2000 }, (_, activation) => 100 * activation)), {
          profile: { cpuMs: 100 },
        }),
        fn('cold', at(50_000), { timeoutMs: 60_000, profile: { cpuMs: 10, initMs: 15_000 } }),
      ],
      mode: 'weight',
      weightPolicy,
      cluster: { cores: 1, userMemoryMiB: 256 },
      decision: noArm,
    });
    const cold = activations.find(({ fn: index }) => index === 1)!;
    t.is(cold.outcome, ClusterOutcome.success, weightPolicy);
    return (cold.runAt - cold.placedAt) / 1000;
  };
  // 16 of 17 parts for 10 s, and half of the core for the other 5588 ms of CPU.
  t.is(Math.round(initMillis('memory')), 21_176);
  // 512 of 537 parts, then half of the core for the other 5466 ms. With the bare weight it would
  // have 10 x 512 / 537 + 50 / 26 < 12 s of CPU in 60 s.
  for (const weightPolicy of ['gittins', 'deadline-first'])
    t.true(Math.abs(initMillis(weightPolicy) - 20_931) < 100, weightPolicy);
});
