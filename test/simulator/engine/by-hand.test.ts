import test from 'ava';
import { ClusterOutcome, StartKind } from '../../../simulator/engine/index.js';
import { at, endsMs, fn, play } from './scene.js';

const cold = { initMs: 50, coldStartMs: 400 };

test('a cold cache: made, initialized, run; then warm; then paused', (t) => {
  // Alone on one core. At 0: 400 to make it, 50 of init, 100 of run: ends at 550. At 600 it is
  // warm: 700. Idle from 700 on, paused after 10 s: the activation at 20,000 needs 20 to unpause
  // and ends at 20,120.
  const { activations, summary } = play({
    functions: [fn('a', at(0, 600, 20_000), { profile: cold })],
  });
  t.deepEqual(endsMs(activations), [550, 700, 20_120]);
  t.deepEqual(
    activations.map((activation) => activation.start),
    [StartKind.cold, StartKind.warm, StartKind.warm],
  );
  // Response over contention-free duration: 5.5, 1, 1.2.
  t.is(summary.slowdown.mean, (5.5 + 1 + 1.2) / 3);
  t.is(summary.slowdown.max, 5.5);
  // Run alone over run alone at the user's limits: all as alone.
  t.is(summary.rfet.mean, 1);
  t.is(summary.starts.cold, 1);
  t.is(summary.starts.warm, 2);
});

test('late is what took longer than its objective, or failed', (t) => {
  // Init + run of the three activations: 150, 100, 100 ms; then one that is killed: it wants 200 of
  // 128 MiB.
  const { summary } = play({
    functions: [
      { ...fn('a', at(0, 600, 20_000), { profile: cold }), sloMs: 120 },
      { ...fn('b', at(0), { profile: { memory: { baseMiB: 30, peakMiB: 200 } } }), sloMs: 1000 },
    ],
  });
  t.deepEqual(
    summary.perFunction.map(({ late, sloMs }) => [late, sloMs]),
    [
      [1, 120],
      [1, 1000],
    ],
  );
});

test('idle eviction: by age, and the least recently used to free memory', (t) => {
  // Two containers fit. b's is used last at 1100, a's at 100; c's at 2000 takes a's place; a is
  // cold again at 3000 and takes b's. c's activation at 612,200 comes 610.1 s after its last end
  // (2100): paused after 10 s and removed 600 s later, so cold.
  const { activations } = play({
    functions: [fn('a', at(0, 3000)), fn('b', at(1000)), fn('c', at(2000, 612_200))].map((one) => ({
      ...one,
      profile: { ...one.profile, coldStartMs: 10 },
    })),
    cluster: { userMemoryMiB: 256 },
  });
  t.deepEqual(
    activations.map((activation) => [activation.arrivedAt / 1000, activation.start]),
    [
      [0, StartKind.cold],
      [1000, StartKind.cold],
      [2000, StartKind.cold],
      [3000, StartKind.cold],
      [612_200, StartKind.cold],
    ],
  );
  // Just within its age it is still there.
  const { activations: younger } = play({ functions: [fn('c', at(0, 610_099))] });
  t.deepEqual(
    younger.map((activation) => activation.start),
    [StartKind.cold, StartKind.warm],
  );
});

// What [OpenWhisk ContainerPool.scala] does in `receive` and `remove`; its tests are
// ContainerPoolTests.scala, "remove several containers to make space" and "provide oldest
// container".

const starts = (scene: Parameters<typeof play>[0]): number[] =>
  play(scene).activations.map((activation) => activation.start);
const { cold: COLD, warm: WARM } = StartKind;

test('evicted is the container whose last activation came first, not the longest idle', (t) => {
  // a runs 0-1000, b 500-600: b is idle for longer, but a's last activation came first. c takes a's
  // place, so b is warm at 3000 and a cold at 4000.
  const functions = [
    fn('a', at(0, 4000), { profile: { cpuMs: 1000 } }),
    fn('b', at(500, 3000)),
    fn('c', at(2000)),
  ];
  t.deepEqual(starts({ functions, cluster: { cores: 2, userMemoryMiB: 256 } }), [
    COLD,
    COLD,
    COLD,
    WARM,
    COLD,
  ]);
});

test('an eviction frees the whole memory of the new container, whatever was free', (t) => {
  // 512 MiB, of which a and b hold 128 each. c needs 384, 128 more than is free: a's container
  // alone would do, and OpenWhisk removes both. At 3000 b is cold.
  const functions = [
    fn('a', at(0)),
    fn('b', at(1000, 3000)),
    fn('c', at(2000), { memoryMiB: 384 }),
  ];
  t.deepEqual(starts({ functions, cluster: { userMemoryMiB: 512 } }), [COLD, COLD, COLD, COLD]);
});

test('what is forced on a full host runs beside too much memory if anything idle can go', (t) => {
  // 512 MiB: a runs with 384, b is idle with 128. c needs 256: the balancer finds no memory and
  // forces it on the host, where b's container goes and c starts at once beside a: 640 MiB.
  const { activations } = play({
    functions: [
      fn('b', at(0)),
      fn('a', at(1000), { memoryMiB: 384, profile: { cpuMs: 1000 } }),
      fn('c', at(1500), { memoryMiB: 256 }),
    ],
    cluster: { cores: 2, userMemoryMiB: 512 },
  });
  t.deepEqual(endsMs(activations), [100, 2000, 1600]);
});

test('no room: first come, first served, and waiting is no work', (t) => {
  // One container fits. a runs 0-100; b waits for it until 100 and runs to 200, then a's second
  // activation until 300: its wait counts as response, and its run is 100 ms all the same.
  const { activations, summary } = play({
    functions: [fn('a', at(0, 20)), fn('b', at(10))],
    cluster: { userMemoryMiB: 128 },
  });
  t.deepEqual(endsMs(activations), [100, 200, 300]);
  t.deepEqual(
    activations.map((activation) => activation.cpu),
    [100_000, 100_000, 100_000],
  );
  t.is(summary.waited, 2);
  t.is(summary.waitMeanMs, (90 + 180) / 2);
  t.is(summary.rfet.max, 1);
});

test('a quota changed mid-run', (t) => {
  // Half a core: 50 ms of work a period of 100 ms from the start of the run on. By 250: 50 + 50 +
  // 50 (throttled since 250; the third period's bucket was used up just then). At 260 the quota
  // becomes one core: 100 ms left run at once, until 360.
  const scene = {
    functions: [fn('a', at(0), { userCpuMillicores: 500, profile: { cpuMs: 250 } })],
    mode: 'quota' as const,
  };
  // Unchanged: 200 ms by 350, throttled until 400, the last 50 by 450.
  t.deepEqual(endsMs(play(scene).activations), [450]);
  t.deepEqual(
    endsMs(
      play({ ...scene, limitChanges: [{ atMs: 260, fn: 0, cpuMillicores: 1000 }] }).activations,
    ),
    [360],
  );
  // In weight mode there is no quota, whatever the function's user asked for.
  t.deepEqual(endsMs(play({ ...scene, mode: 'weight' }).activations), [250]);
});

test('a weight changed mid-run', (t) => {
  // Two of equal weight on one core, 100 ms each. At 100 both have 50 left; from then on a has
  // three quarters: it ends at 100 + 50 / .75 = 166.667 (seen at the next whole us), b has 16.67
  // more by then, and its last 33.33 alone: a trifle after 200.
  const { activations } = play({
    functions: [fn('a', at(0)), fn('b', at(0))],
    limitChanges: [{ atMs: 100, fn: 0, shares: 96 }],
    cluster: { userMemoryMiB: 4096 },
  });
  // 1024 x 128 / 4096 = 32 shares each.
  t.deepEqual(endsMs(activations), [166.667, 200.001]);
});

test('a memory limit below what is in use kills', (t) => {
  // The working set rises from 30 to 110 MiB over the first half of 100 ms: 70 MiB at 25 ms. The
  // limit falls to 60 MiB at 40 ms, where it is at 94: killed then. A limit of 100 MiB is met at 50
  // x 70 / 80 = 43.75 ms.
  const functions = [
    fn('a', at(0), { profile: { memory: { baseMiB: 30, peakMiB: 110, growth: 0.5 } } }),
  ];
  const at60 = play({ functions, limitChanges: [{ atMs: 40, fn: 0, memoryMiB: 60 }] });
  t.deepEqual(endsMs(at60.activations), [40]);
  t.is(at60.activations[0]!.outcome, ClusterOutcome.outOfMemory);
  t.is(at60.summary.oomKills, 1);
  t.deepEqual(
    endsMs(play({ functions, limitChanges: [{ atMs: 40, fn: 0, memoryMiB: 100 }] }).activations),
    [43.75],
  );
  t.deepEqual(endsMs(play({ functions }).activations), [100]);
});

test('I/O comes after half of the work and takes no core', (t) => {
  // a: 50 work, 200 wait, 50 work. b arrives at 60 and has the core alone while a waits: 160. a is
  // back at 250.
  const { activations } = play({
    functions: [fn('a', at(0), { profile: { ioMs: 200 } }), fn('b', at(60))],
  });
  t.deepEqual(endsMs(activations), [300, 160]);
});

test('time limits: in the run, in the wait, in init; the container is gone', (t) => {
  const { activations } = play({
    functions: [
      fn('run', at(0, 1000), { timeoutMs: 150, profile: { cpuMs: 200 } }),
      fn('wait', at(2000), { timeoutMs: 150, profile: { ioMs: 500 } }),
      fn('init', at(3000), { timeoutMs: 150, profile: { initMs: 300 } }),
    ],
  });
  t.deepEqual(endsMs(activations), [150, 1150, 2150, 3150]);
  t.true(activations.every((activation) => activation.outcome === ClusterOutcome.timeout));
  // The second activation of `run` found no container.
  t.is(activations[1]!.start, StartKind.cold);
});

test('a host fails and returns', (t) => {
  // a runs on the only host when it fails at 50: lost. b arrives meanwhile: there is no host. c
  // arrives when it is back at 300: cold.
  const { activations, summary } = play({
    functions: [fn('a', at(0)), fn('b', at(100)), fn('c', at(400))],
    failures: [{ host: 0, atMs: 50, forMs: 250 }],
  });
  t.deepEqual(
    activations.map((activation) => activation.outcome),
    [ClusterOutcome.lost, ClusterOutcome.rejected, ClusterOutcome.success],
  );
  t.deepEqual(endsMs(activations), [50, 100, 500]);
  t.deepEqual(summary.outcomes, { success: 1, timeout: 0, outOfMemory: 0, lost: 1, rejected: 1 });
});

test('what waits on a host that fails waits on, or is lost with it', (t) => {
  const functions = [fn('a', at(0)), fn('b', at(10))];
  const cluster = { userMemoryMiB: 128 };
  // b waits for a's place; the host is back at 300.
  const back = play({ functions, cluster, failures: [{ host: 0, atMs: 50, forMs: 250 }] });
  t.deepEqual(endsMs(back.activations), [50, 400]);
  const gone = play({ functions, cluster, failures: [{ host: 0, atMs: 50 }] });
  t.deepEqual(endsMs(gone.activations), [50, 50]);
  t.true(gone.activations.every((activation) => activation.outcome === ClusterOutcome.lost));
});

test('prewarmed containers take init alone, and are made again', (t) => {
  // One in stock, ready at 400. The activation at 1000 takes it (init 50, run 100: 1150); the next
  // one is ready at 1400. The activation at 1100 finds none: 400 + 50 + 100, beside the first until
  // 1150 on one core. It takes 1550 + 100.
  const { activations } = play({
    functions: [fn('a', at(1000)), fn('b', at(1100)), fn('c', at(5000))].map((one) => ({
      ...one,
      profile: { ...one.profile, ...cold },
    })),
    cluster: { prewarm: [{ memoryMiB: 128, count: 1, coldStartMs: 400 }] },
  });
  t.deepEqual(
    activations.map((activation) => activation.start),
    [StartKind.prewarmed, StartKind.cold, StartKind.prewarmed],
  );
  t.deepEqual(endsMs(activations), [1150, 1650, 5150]);
});

test('several activations in one container share its weight and its place', (t) => {
  // a may run two at once: its second activation joins the first's container (still being made for
  // 10 ms), so one cold start. The third needs another container.
  const { activations, summary } = play({
    functions: [fn('a', at(0, 1, 2), { profile: { coldStartMs: 10 } })],
    extras: { 0: { concurrency: 2 } },
    cluster: { cores: 4 },
  });
  t.is(summary.starts.cold, 2);
  t.deepEqual(endsMs(activations), [110, 110, 112]);
  // Against b, a container with two activations has the weight of one: on one core b has half, a's
  // two a quarter each.
  const shared = play({
    functions: [fn('a', at(0, 0)), fn('b', at(0))],
    extras: { 0: { concurrency: 2 } },
  });
  // b ends at 200; a's two have 50 each by then, and half a core each afterwards: 300.
  t.deepEqual(endsMs(shared.activations), [300, 300, 200]);
});

test('a function capped at one container waits for it, and other functions do not', (t) => {
  const { activations, summary } = play({
    functions: [fn('a', at(0, 10, 20)), fn('b', at(30))],
    extras: { 0: { maxContainers: 1 } },
    cluster: { cores: 4, hosts: 2 },
  });
  t.deepEqual(endsMs(activations), [100, 200, 300, 130]);
  t.is(summary.starts.cold, 2);
});

test('no activation waits without end', (t) => {
  // The only host has 256 MiB, half of it in a prewarmed container, which is never evicted: an
  // activation that needs all is turned away when nothing is left that could make room.
  const cluster = { userMemoryMiB: 256, prewarm: [{ memoryMiB: 128, count: 1, coldStartMs: 400 }] };
  const { activations } = play({ functions: [fn('a', at(0), { memoryMiB: 256 })], cluster });
  t.deepEqual(
    activations.map((activation) => activation.outcome),
    [ClusterOutcome.rejected],
  );
  // The only host is gone for good: the second activation, held back since its function may have
  // one container, is turned away at once.
  const gone = play({
    functions: [fn('a', at(0, 10, 60))],
    extras: { 0: { maxContainers: 1 } },
    failures: [{ host: 0, atMs: 50 }],
  });
  t.deepEqual(
    gone.activations.map((activation) => activation.outcome),
    [ClusterOutcome.lost, ClusterOutcome.rejected, ClusterOutcome.rejected],
  );
});

test('what the system keeps busy, containers do not get', (t) => {
  // Three quarters of a core are left on the average: 100 ms of work take 100 / 0.75 = 133.3; on
  // two cores 1.25 are left, and one thread uses one of them.
  const one = [fn('a', at(0))];
  t.true(
    Math.abs(
      endsMs(play({ functions: one, cluster: { systemCores: 0.25 } }).activations)[0]! - 400 / 3,
    ) < 0.01,
  );
  t.deepEqual(
    endsMs(play({ functions: one, cluster: { cores: 2, systemCores: 0.75 } }).activations),
    [100],
  );
});
