import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { Phase } from '../../../simulator/engine/activations.js';
import { buildCluster } from '../../../simulator/engine/build.js';
import {
  ClusterOutcome,
  type SimulatedActivation,
  simulateCluster,
} from '../../../simulator/engine/index.js';
import { type Extras, fn, optionsOf, type Scene, streamOf } from './scene.js';

const oneFunction = fc.record({
  rate: fc.constantFrom(0.5, 3, 10),
  memoryMiB: fc.constantFrom(64, 128, 256),
  parallelism: fc.constantFrom(0.25, 1, 2, 4),
  cpuMs: fc.constantFrom(1, 20, 200, 900),
  ioMs: fc.constantFrom(0, 0, 50),
  peakMiB: fc.constantFrom(30, 60, 100),
  initMs: fc.constantFrom(0, 40),
  coldStartMs: fc.constantFrom(0, 300),
  timeoutMs: fc.constantFrom(500, 60_000),
  userCpuMillicores: fc.constantFrom(null, 250, 1000, 2000),
  concurrency: fc.constantFrom(1, 1, 1, 3),
  maxContainers: fc.constantFrom(undefined, undefined, undefined, 1, 2),
});

/** The manager; `null`: none, OpenWhisk without Gleaner. */
const decides = fc.constantFrom<Partial<Scene> | null>(
  null,
  { quotaPolicy: 'smallest-in-range' },
  { quotaPolicy: 'libra', weightPolicy: 'sfs' },
  {
    quotaPolicy: 'random-in-range',
    weightPolicy: 'shortest-remaining-first',
    decision: { memoryPolicy: 'faasrm' },
  },
  { manager: 'greedy' },
  { manager: 'hpa-vpa', decision: { memoryPolicy: 'faasrm' } },
  { manager: 'kpa' },
  { manager: 'right-size' },
);

const anyScene = fc
  .record({
    functions: fc.array(oneFunction, { minLength: 1, maxLength: 5 }),
    hosts: fc.integer({ min: 1, max: 4 }),
    cores: fc.integer({ min: 1, max: 3 }),
    userMemoryMiB: fc.constantFrom(256, 512, 2048),
    mode: fc.constantFrom('weight' as const, 'quota' as const),
    seed: fc.integer({ min: 1, max: 1000 }),
    prewarm: fc.boolean(),
    failure: fc.constantFrom('none', 'returns', 'stays'),
    change: fc.boolean(),
    activations: fc.integer({ min: 1, max: 400 }),
    decides,
  })
  .map(
    (drawn): Scene => ({
      functions: drawn.functions.map((one, i) =>
        fn(
          `f${i}`,
          { ratePerSecond: one.rate, seconds: 100 },
          {
            memoryMiB: one.memoryMiB,
            timeoutMs: one.timeoutMs,
            userCpuMillicores: one.userCpuMillicores,
            profile: {
              parallelism: one.parallelism,
              cpuMs: { exponential: { mean: one.cpuMs } },
              ioMs: one.ioMs,
              initMs: one.initMs,
              coldStartMs: one.coldStartMs,
              memory: { baseMiB: 30, peakMiB: one.peakMiB, retained: 0.5 },
            },
          },
        ),
      ),
      extras: Object.fromEntries(
        drawn.functions.map(({ concurrency, maxContainers }, i): [number, Extras] => [
          i,
          { concurrency, ...(maxContainers === undefined ? {} : { maxContainers }) },
        ]),
      ),
      ...drawn.decides,
      control: { stepActivations: 3, stepMs: 1000, fieldMs: 1000 },
      stream: drawn.activations,
      seed: drawn.seed,
      mode: drawn.mode,
      cluster: {
        hosts: drawn.hosts,
        cores: drawn.cores,
        userMemoryMiB: drawn.userMemoryMiB,
        idleMs: 5000,
        pauseGraceMs: 100,
        prewarm: drawn.prewarm ? [{ memoryMiB: 128, count: 1, coldStartMs: 300 }] : [],
      },
      failures:
        drawn.failure === 'none'
          ? []
          : [{ host: 0, atMs: 3000, ...(drawn.failure === 'returns' && { forMs: 2000 }) }],
      limitChanges: drawn.change
        ? [{ atMs: 2000, fn: 0, cpuMillicores: 300, shares: 500, memoryMiB: 80 }]
        : [],
    }),
  );

testProp(
  'every activation ends once, its work is done, cores are never exceeded and memory only by force',
  [anyScene],
  (t, scene) => {
    const seen = new Map<number, SimulatedActivation>();
    let twice = 0;
    const { cluster, limitController } = buildCluster({
      ...optionsOf(scene),
      activations: streamOf(scene),
      recorder: {
        record: (activation) => {
          if (seen.has(activation.activation)) twice++;
          seen.set(activation.activation, { ...activation });
        },
      },
    });
    const { hosts, cores, userMemoryMiB } = optionsOf(scene).cluster;
    for (let until = 0; !cluster.finished; until += 370_000) {
      cluster.run(until);
      if (until > 1e10) throw new Error('does not come to an end');
      for (let host = 0; host < hosts; host++) {
        // The balancer keeps a host's memory, except for what it forces on a full host and for
        // prewarmed containers, which it does not know.
        const kept = cluster.balancer.forced === 0 && !scene.cluster?.prewarm?.length;
        if (kept && cluster.containers.admitted[host]! > userMemoryMiB)
          t.fail('too much memory admitted');
        const list = cluster.cores.runners.on(host);
        let granted = 0;
        for (let i = 0; i < cluster.cores.runners.counts[host]!; i++) {
          const a = list[i]!;
          granted += cluster.cores.rate(a);
          if (cluster.cores.rate(a) > cluster.activations.columns.cap[a]! + 1e-9)
            t.fail('more than it can use');
        }
        if (granted > cores + 2e-6) t.fail(`${granted} of ${cores} cores`);
        const pool = limitController?.hosts[host]?.decider.cpuPool;
        if (pool === undefined) continue;
        // Loans come from what is there; users' own limits may add up to more than a host.
        if (pool.borrowed > 1e-6 && pool.granted > 1000 * cores + 1e-6)
          t.fail(`${pool.granted} millicores granted`);
        if (cluster.finished && pool.granted > 0) t.fail('a grant outlives its run');
      }
    }
    t.is(twice, 0);
    t.is(seen.size, scene.stream!);
    t.is(cluster.accounts.arrived, scene.stream!);
    t.is(cluster.accounts.ended, scene.stream!);
    for (const activation of seen.values()) {
      t.true(activation.endedAt >= activation.arrivedAt);
      if (activation.outcome !== ClusterOutcome.success) continue;
      const spec = scene.functions[activation.fn]!;
      t.true(
        activation.endedAt - activation.runAt >= activation.soloMicros - 1e-3,
        `${activation.endedAt - activation.runAt} < ${activation.soloMicros}`,
      );
      const asked =
        (activation.soloMicros - Number(spec.profile.ioMs ?? 0) * 1000) * spec.profile.parallelism;
      t.true(Math.abs(asked - activation.cpu) < 1e-3, `${activation.cpu} of ${asked} core-us`);
    }
    // What still runs is `/init` of containers that were made for activations which others have
    // served meanwhile.
    const { phase, activation } = cluster.activations.columns;
    for (let host = 0; host < hosts; host++)
      for (const a of cluster.cores.runners.on(host).slice(0, cluster.cores.runners.counts[host])) {
        t.is(phase[a], Phase.init);
        t.is(activation[a], -1);
      }
  },
  { numRuns: 100 },
);

testProp(
  'the same seed gives the same bytes',
  [anyScene],
  (t, scene) => {
    const run = () =>
      JSON.stringify(simulateCluster({ ...optionsOf(scene), activations: streamOf(scene) }));
    t.is(run(), run());
  },
  { numRuns: 20 },
);

test('a long run takes no more room than a short one', (t) => {
  const scene = (activations: number): Scene => ({
    functions: [
      fn(
        'a',
        { ratePerSecond: 10, seconds: 100 },
        { profile: { cpuMs: { exponential: { mean: 50 } } } },
      ),
    ],
    stream: activations,
    cluster: { userMemoryMiB: 1024 },
  });
  const places = (activations: number) => {
    const { cluster } = buildCluster({
      ...optionsOf(scene(activations)),
      activations: streamOf(scene(activations)),
    });
    cluster.run(Number.POSITIVE_INFINITY);
    t.is(cluster.activations.count, 0);
    return cluster.activations.high;
  };
  t.true(places(100_000) <= 2 * places(10_000));
});

test('progress and the warm-up', (t) => {
  const scene: Scene = {
    functions: [fn('a', { ratePerSecond: 100, seconds: 100 }, { profile: { cpuMs: 2 } })],
    stream: 140_000,
    warmUpMs: 100_000,
  };
  const shares: number[] = [];
  const summary = simulateCluster({
    ...optionsOf(scene),
    activations: streamOf(scene),
    onProgress: ({ share }) => shares.push(share),
  });
  // Twice 65,536 and the end, when about the whole span has passed (activations are limited, not
  // time).
  t.is(shares.length, 3);
  t.true(shares[2]! > 0.98);
  // 100 of 1400 s do not count.
  t.true(Math.abs(summary.activations - 130_000) < 1000);
  t.is(summary.worst?.name, '/guest/a');
});

test('an activation waits for a container that is created ahead, and user-memory is kept', (t) => {
  // kpa creates two more of f0 ahead. Without them 256 of the 512 MiB are busy or idle of f0 when
  // another activation of f1 needs 256; with them 384.
  const profile = {
    parallelism: 0.25,
    ioMs: 0,
    memory: { baseMiB: 30, peakMiB: 30, retained: 0.5 },
  };
  const arrivals = { ratePerSecond: 10, seconds: 100 };
  const scene: Scene = {
    functions: [
      fn('f0', arrivals, {
        memoryMiB: 64,
        timeoutMs: 500,
        profile: { ...profile, cpuMs: { exponential: { mean: 1 } }, initMs: 40, coldStartMs: 300 },
      }),
      fn('f1', arrivals, {
        memoryMiB: 256,
        timeoutMs: 500,
        profile: { ...profile, cpuMs: { exponential: { mean: 200 } }, initMs: 0, coldStartMs: 0 },
      }),
    ],
    extras: { 0: { maxContainers: 2 }, 1: { maxContainers: 2 } },
    manager: 'kpa',
    control: { stepActivations: 3, stepMs: 1000, fieldMs: 1000 },
    stream: 13,
    seed: 1,
    mode: 'weight',
    cluster: { hosts: 1, cores: 1, userMemoryMiB: 512, idleMs: 5000, pauseGraceMs: 100 },
  };
  const { cluster } = buildCluster({ ...optionsOf(scene), activations: streamOf(scene) });
  let most = 0;
  for (let until = 0; !cluster.finished; until += 10_000) {
    cluster.run(until);
    most = Math.max(most, cluster.containers.admitted[0]!);
  }
  t.is(cluster.balancer.forced, 0);
  t.true(most > 256 && most <= 512, `${most} MiB`);
});
