import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { MIB, SeededRandom } from '../../../config/index.js';
import { compressionOf, soloMs } from '../../../simulator/workload/demand-table.js';
import { type Distribution, normalQuantile } from '../../../simulator/workload/distribution.js';
import { DistributionTable } from '../../../simulator/workload/distribution-table.js';
import {
  ActivationBlock,
  type ActivationStream,
  checkWorkload,
  quantile,
  type Workload,
  WorkloadStream,
} from '../../../simulator/workload/index.js';
import { permuted } from '../../../simulator/workload/probability-table.js';
import type { WorkloadInput } from '../../../simulator/workload/workload.js';
import { PhasedStream } from '../../../simulator/workload/workload-stream.js';

const PROFILE = { parallelism: 1, cpuMs: 10, memory: { baseMiB: 40, peakMiB: 60 } };

type FunctionInput = WorkloadInput['functions'][number];

function workload(
  functions: readonly Partial<FunctionInput>[],
  changes: Partial<WorkloadInput> = {},
): Workload {
  return checkWorkload({
    version: 1,
    name: 'test',
    functions: functions.map((fn, i) => ({
      name: `/guest/f${i}`,
      memoryMiB: 256,
      profile: PROFILE,
      arrivals: { atMs: [0] },
      ...fn,
    })),
    ...changes,
  });
}

interface Activation {
  readonly fn: number;
  readonly at: number;
  readonly cpu: number;
  readonly io: number;
  readonly peak: number;
  readonly payload: number;
}

/** Drained in blocks of an odd size, so that block edges fall anywhere. */
function drain(stream: ActivationStream, capacity = 37): Activation[] {
  const block = new ActivationBlock(capacity);
  const activations: Activation[] = [];
  for (let count = stream.fill(block); count > 0; count = stream.fill(block)) {
    for (let i = 0; i < count; i++) {
      activations.push({
        fn: block.fn[i]!,
        at: block.arrival[i]!,
        cpu: block.cpu[i]!,
        io: block.io[i]!,
        peak: block.peak[i]!,
        payload: block.payload[i]!,
      });
    }
  }
  return activations;
}

/** Largest distance between two empirical distributions (Kolmogorov, Smirnov). */
function distance(a: readonly number[], b: readonly number[]): number {
  const left = [...a].sort((x, y) => x - y);
  const right = [...b].sort((x, y) => x - y);
  let most = 0;
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    const value = Math.min(left[i]!, right[j]!);
    while (i < left.length && left[i]! <= value) i++;
    while (j < right.length && right[j]! <= value) j++;
    most = Math.max(most, Math.abs(i / left.length - j / right.length));
  }
  return most;
}

const HEAVY: FunctionInput['profile'] = {
  parallelism: 0.5,
  cpuMs: {
    quantiles: [
      [0, 5],
      [0.5, 40],
      [1, 4000],
    ],
  },
  ioMs: {
    quantiles: [
      [0, 1],
      [0.5, 10],
      [1, 900],
    ],
  },
  memory: { baseMiB: 40, peakMiB: { lognormal: { median: 90, sigma: 0.4 } } },
  payload: { median: 2, sigma: 0.5, cpu: 1, io: 0.5, memory: 0.3 },
};

/**
 * 1800 activations of the first function by the formulas of the format, at uniform times in their
 * minutes.
 */
function drawn(made: Workload, perMinute: readonly number[]) {
  const random = new SeededRandom(99);
  const fn = made.functions[0]!;
  const { cpuMs, ioMs, memory, payload } = fn.profile;
  const minutes = perMinute.flatMap((count, minute) => Array<number>(count).fill(minute));
  const rows = minutes.map((minute) => {
    const size = payload.median * Math.exp(payload.sigma * normalQuantile(random.next()));
    const u = random.next();
    const cpu = quantile(cpuMs, u) * size ** payload.cpu;
    // Both come from one recorded duration.
    const io = quantile(ioMs, u) * size ** payload.io;
    const above = Math.max(0, quantile(memory.peakMiB, random.next()) - memory.baseMiB);
    const shorter = 1000 * compressionOf(soloMs(fn, cpu, io), made.compression);
    return {
      arrival: ((minute + random.next()) * 60e6) / made.compression.time,
      cpu: cpu * shorter,
      io: io * shorter,
      peak: (memory.baseMiB + above * size ** payload.memory) * MIB,
      payload: size,
    };
  });
  const column = (name: keyof (typeof rows)[number]): number[] => rows.map((row) => row[name]);
  return {
    arrival: column('arrival'),
    cpu: column('cpu'),
    io: column('io'),
    peak: column('peak'),
    payload: column('payload'),
  };
}

test('a stream is distributed as its workload says', (t) => {
  for (const draws of ['independent', 'stratified'] as const) {
    for (const within of ['uniform', 'poisson', 'bursty', 'even'] as const) {
      const perMinute = Array.from({ length: 30 }, (_, i) => (i % 3) * 60);
      const compression = { time: 2, duration: 10, aboveMs: 1000, floorMs: 300 };
      const made = workload([{ profile: HEAVY, arrivals: { perMinute, within } }], {
        draws,
        compression,
      });
      const activations = drain(new WorkloadStream(made, { rounds: 2 }));
      const wanted = drawn(made, perMinute);
      if (within === 'poisson')
        t.true(Math.abs(activations.length - 3600) < 4 * 60, `${activations.length}`);
      else t.is(activations.length, 3600);
      const round = 15 * 60e6;
      // 3600 against 1800: the .001 point of the distance is 1.95 x sqrt(1/3600 + 1/1800) = .056.
      for (const [name, found, expected] of [
        ['arrival', activations.map((activation) => activation.at % round), wanted.arrival],
        ['cpu', activations.map((activation) => activation.cpu), wanted.cpu],
        ['io', activations.map((activation) => activation.io), wanted.io],
        ['peak', activations.map((activation) => activation.peak), wanted.peak],
        ['payload', activations.map((activation) => activation.payload), wanted.payload],
      ] as const) {
        // Burst shifts times of neighbors together: eight activations count as one.
        const bound = name === 'arrival' && within === 'bursty' ? 0.056 * Math.sqrt(8) : 0.056;
        t.true(
          distance(found, expected) < bound,
          `${draws} ${within} ${name}: ${distance(found, expected)}`,
        );
      }
    }
  }
});

test('activations are in order, ties by function, whatever the size of the block', (t) => {
  const functions = Array.from({ length: 50 }, (_, i) => ({
    arrivals: {
      perMinute: [i % 7, (i * 3) % 11],
      within: i % 2 === 0 ? ('even' as const) : ('uniform' as const),
    },
  }));
  const activations = drain(new WorkloadStream(workload(functions), { rounds: 3 }));
  const counts = functions.reduce(
    (sum, { arrivals }) => sum + arrivals.perMinute[0]! + arrivals.perMinute[1]!,
    0,
  );
  t.is(activations.length, 3 * counts);
  for (let i = 1; i < activations.length; i++) {
    const [before, activation] = [activations[i - 1]!, activations[i]!];
    t.true(
      before.at < activation.at || (before.at === activation.at && before.fn <= activation.fn),
    );
  }
  t.deepEqual(drain(new WorkloadStream(workload(functions), { rounds: 3 }), 4096), activations);
});

test('a function added changes no other’s activations', (t) => {
  const f = { name: '/guest/f', profile: HEAVY, arrivals: { ratePerSecond: 5, seconds: 60 } };
  const alone = drain(new WorkloadStream(workload([f])));
  const both = drain(new WorkloadStream(workload([{ ...f, name: '/guest/other' }, f])));
  t.deepEqual(
    both
      .filter((activation) => activation.fn === 1)
      .map((activation) => ({ ...activation, fn: 0 })),
    alone,
  );
});

test('a stream of N activations repeats the workload, each round with its own draws', (t) => {
  const made = workload([{ arrivals: { atMs: [3, 1, 2] } }, { arrivals: { perMinute: [2] } }]);
  const stream = new WorkloadStream(made, { activations: 12 });
  const activations = drain(stream);
  t.is(activations.length, 12);
  t.is(stream.expectedActivations, 12);
  // Five activations a minute: 12 take 2.4 minutes.
  t.is(stream.spanMicros, 144e6);
  const listed = activations
    .filter((activation) => activation.fn === 0)
    .map((activation) => activation.at);
  t.deepEqual(listed.slice(0, 6), [1e3, 2e3, 3e3, 60_001e3, 60_002e3, 60_003e3]);
  const drawn = activations
    .filter((activation) => activation.fn === 1)
    .map((activation) => activation.at);
  t.not(drawn[0]! % 60e6, drawn[2]! % 60e6);
});

test('a stream without any activation ends at once', (t) => {
  const stream = new WorkloadStream(workload([{ arrivals: { perMinute: [0, 0] } }]), {
    activations: 10,
  });
  t.is(stream.expectedActivations, 0);
  t.deepEqual(drain(stream), []);
  // Equal gaps longer than the whole recording: no activation, however often it is repeated.
  const rare = workload([{ arrivals: { ratePerSecond: 0.1, seconds: 2, within: 'even' } }]);
  t.deepEqual(drain(new WorkloadStream(rare, { activations: 3 })), []);
});

test('rates: equal gaps begin half a gap late, Poisson gaps end with the recording', (t) => {
  const even = workload([{ arrivals: { ratePerSecond: 2, seconds: 2, within: 'even' } }]);
  t.deepEqual(
    drain(new WorkloadStream(even, { rounds: 2 })).map(({ at }) => at / 1e6),
    [0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75],
  );
  const poisson = workload([
    { arrivals: { ratePerSecond: 100, seconds: 50 } },
    { arrivals: { perMinute: [0, 1] } },
  ]);
  const activations = drain(new WorkloadStream(poisson, { rounds: 2 })).filter(
    ({ fn }) => fn === 0,
  );
  // 2 x 5000, standard deviation 100; none in the 70 s of each round that lie after the recording.
  t.true(Math.abs(activations.length - 10_000) < 400, `${activations.length}`);
  t.true(activations.every(({ at }) => at % 120e6 < 50e6));
});

test('bursts keep the counts and have the variance of the cluster process', (t) => {
  const perMinute = Array.from({ length: 500 }, () => 100);
  const activations = drain(
    new WorkloadStream(workload([{ arrivals: { perMinute, within: 'bursty' } }])),
  );
  const minutes = new Array(500).fill(0);
  const bins = new Array(5000).fill(0);
  for (const { at } of activations) {
    minutes[Math.floor(at / 60e6)]++;
    bins[Math.floor(at / 6e6)]++;
  }
  t.deepEqual(minutes, perMinute);
  const variance = bins.reduce((sum: number, n: number) => sum + (n - 10) ** 2, 0) / bins.length;
  // Sizes S geometric with mean 8: E[S^2]/E[S] = 15 times the mean of 10, less a tenth because a
  // minute's count is fixed; a burst lasts .7 s in the mean, so about a tenth of them straddle two
  // bins, which lowers it by some 10 % more. Uniform: 9.
  t.true(variance > 0.7 * 135 && variance < 1.05 * 135, `${variance}`);
});

test('stratified draws cover a distribution evenly in every round, in random order', (t) => {
  const ramp: Distribution = {
    quantiles: [
      [0, 0],
      [1, 1],
    ],
  };
  const made = workload(
    [{ profile: { ...PROFILE, cpuMs: ramp }, arrivals: { perMinute: [100] } }],
    {
      draws: 'stratified',
    },
  );
  const cpu = drain(new WorkloadStream(made, { rounds: 2 })).map((activation) =>
    Math.floor((activation.cpu / 1000) * 100),
  );
  const inOrder = Array.from({ length: 100 }, (_, i) => i);
  const sorted = (values: number[]) => [...values].sort((a, b) => a - b);
  t.deepEqual(sorted(cpu.slice(0, 100)), inOrder);
  t.deepEqual(sorted(cpu.slice(100)), inOrder);
  t.notDeepEqual(cpu.slice(0, 100), cpu.slice(100));
  // Correlation of neighbors near 0: standard deviation .1.
  let product = 0;
  for (let i = 1; i < 100; i++) product += (cpu[i]! - 49.5) * (cpu[i - 1]! - 49.5);
  t.true(Math.abs(product / 99 / 833) < 0.35, `${product / 99 / 833}`);
});

test('phases play one after the other, the later ones after the span of the earlier', (t) => {
  const before = workload([{ arrivals: { perMinute: [1] } }]);
  const after = workload([{ arrivals: { perMinute: [2] }, profile: { ...PROFILE, cpuMs: 30 } }]);
  const stream = new PhasedStream([new WorkloadStream(before), new WorkloadStream(after)]);
  const activations = drain(stream);
  t.is(stream.spanMicros, 120e6);
  t.is(stream.expectedActivations, 3);
  t.deepEqual(
    activations.map((activation) => [activation.cpu, Math.floor(activation.at / 60e6)]),
    [
      [10_000, 0],
      [30_000, 1],
      [30_000, 1],
    ],
  );
  t.throws(() => new PhasedStream([]), { instanceOf: RangeError });
  const other = workload([{ name: '/guest/other' }]);
  t.throws(() => new PhasedStream([new WorkloadStream(before), new WorkloadStream(other)]), {
    instanceOf: RangeError,
  });
});

testProp(
  'a permutation by key is one: every index once',
  [fc.integer({ min: 1, max: 300 }), fc.integer()],
  (t, count, key) => {
    const places = Array.from({ length: count }, (_, i) => permuted(i, count, key));
    t.is(new Set(places).size, count);
    t.true(places.every((place) => place >= 0 && place < count));
  },
);

const distributions = fc.oneof(
  fc.double({ min: 0, max: 1e4, noNaN: true }),
  fc.record({
    lognormal: fc.record({
      median: fc.double({ min: 0.1, max: 1e3, noNaN: true }),
      sigma: fc.constantFrom(0, 0.3, 2),
    }),
  }),
  fc.record({ exponential: fc.record({ mean: fc.double({ min: 0.1, max: 1e3, noNaN: true }) }) }),
  fc
    .array(fc.constantFrom(0, 0, 1, 1, 5, 40, 40, 900), { minLength: 2, maxLength: 9 })
    .map((values) => values.sort((a, b) => a - b))
    .map((values) => ({
      quantiles: values.map((value, i): [number, number] => [
        i === 0 ? 0 : i / (values.length - 1),
        value,
      ]),
    })),
);

testProp(
  'a distribution made ready for many draws has the same quantiles',
  [
    fc.array(distributions, { minLength: 1, maxLength: 4 }),
    fc.double({ min: 0, max: 0.999999, noNaN: true }),
  ],
  (t, kinds, u) => {
    const table = new DistributionTable();
    const handles = kinds.map((kind) => table.add(kind));
    kinds.forEach((kind, i) => {
      const expected = quantile(kind, u);
      t.true(Math.abs(table.at(handles[i]!, u) - expected) <= 1e-9 * Math.max(1, expected));
    });
  },
);
