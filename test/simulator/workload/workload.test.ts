import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { compressionOf, soloMs } from '../../../simulator/workload/demand-table.js';
import { normalQuantile } from '../../../simulator/workload/distribution.js';
import {
  azureTen,
  checkWorkload,
  planWorkload,
  quantile,
  scaled,
  takeMinutes,
} from '../../../simulator/workload/index.js';

import {
  loadWorkload,
  parseWorkload,
  WorkloadError,
  type WorkloadInput,
} from '../../../simulator/workload/workload.js';

const PROFILE = { parallelism: 1, cpuMs: 10, memory: { baseMiB: 40, peakMiB: 60 } };

function workload(
  changes: Partial<WorkloadInput> = {},
  fn: Partial<WorkloadInput['functions'][number]> = {},
) {
  return checkWorkload({
    version: 1,
    name: 'test',
    functions: [
      { name: '/guest/f', memoryMiB: 256, profile: PROFILE, arrivals: { atMs: [0] }, ...fn },
    ],
    ...changes,
  });
}

function problems(text: string): readonly string[] {
  try {
    parseWorkload(text, 'w.yaml');
  } catch (error) {
    if (error instanceof WorkloadError) return error.problems;
    throw error;
  }
  return [];
}

test('YAML and JSON say the same', (t) => {
  const yaml = `
version: 1
name: test
functions:
  - name: /guest/f
    memoryMiB: 256
    profile: { parallelism: 1, cpuMs: 10, memory: { baseMiB: 40, peakMiB: 60 } }
    arrivals: { atMs: [0] }
`;
  t.deepEqual(parseWorkload(yaml), workload());
  t.deepEqual(parseWorkload(JSON.stringify(workload())), workload());
});

test('every problem is reported at once, with its line', (t) => {
  const found = problems(`version: 1
name: test
hots: {}
functions:
  - name: f
    memoryMiB: 256
    profile:
      parallelism: 0
      cpuMs: 10
      memory: { baseMiB: 40, peakMiB: 60 }
    arrivals: { atMs: [0] }
`);
  t.is(found.length, 3, found.join('\n'));
  t.true(
    found.some((line) => line.startsWith('line 5: functions.0.name: must be /namespace/action')),
  );
  t.true(found.some((line) => line.startsWith('line 8: functions.0.profile.parallelism')));
  t.true(found.some((line) => line.includes('hots')));
});

test('other versions, broken YAML and impossible functions are refused', (t) => {
  t.regex(problems('version: 2\nname: x\nfunctions: []')[0]!, /^line 1: version/);
  t.regex(problems('a: [1')[0]!, /^line 1: /);
  t.regex(problems('')[0]!, /expected object/i);
  const twice = { name: '/guest/f', memoryMiB: 256, profile: PROFILE, arrivals: { atMs: [0] } };
  t.throws(() => workload({ functions: [twice, twice] }), { message: /\/guest\/f is there twice/ });
  t.throws(() => workload({}, { memoryMiB: 8192 }), { message: /never fit/ });
  t.throws(() => workload({}, { arrivals: { ratePerSecond: 1e9, seconds: 60 } }), {
    message: /functions.0.arrivals.ratePerSecond: must be at most 20000/,
  });
  t.throws(() => workload({ host: { memoryMiB: 1024, userMemoryMiB: 2048 } }), {
    message: /more than the memory of the host/,
  });
  t.throws(() => loadWorkload('no/such/file.json'), {
    instanceOf: WorkloadError,
    message: /no such file/,
  });
});

test('a file of brackets alone is refused in a few lines', (t) => {
  // Found by the fuzzer.
  const error = t.throws(() => parseWorkload('['.repeat(2000)), { instanceOf: WorkloadError });
  t.true(error.problems.length > 20);
  // 20 problems of a line each.
  t.true(error.message.length < 20 * 200, `${error.message.length}`);
  t.regex(error.message, /; and \d+ more$/);
});

test('a key of any length is named in a few words', (t) => {
  // Found by the fuzzer: 7,822 characters, most of them one key's.
  const error = t.throws(() => parseWorkload(`${'k'.repeat(7000)}: 1\n`), {
    instanceOf: WorkloadError,
  });
  // Name, four problems (three required members and the key) of 200 characters at most.
  t.true(error.message.length < 1000, `${error.message.length}`);
});

test('a distribution of no points is a problem with its line, not an error of the program', (t) => {
  // Found by the fuzzer: a TypeError of the check that its first probability is 0.
  const profile = {
    parallelism: 1,
    cpuMs: { quantiles: [] },
    memory: { baseMiB: 40, peakMiB: 60 },
  };
  const fn = { name: '/guest/f', memoryMiB: 256, profile, arrivals: { atMs: [0] } };
  const found = problems(JSON.stringify({ version: 1, name: 'test', functions: [fn] }));
  t.true(found.length > 0);
  t.true(
    found.every((line) => line.includes('functions.0.profile.cpuMs')),
    found.join('\n'),
  );
});

test('aliases of nothing, of themselves and without end are problems of the file', (t) => {
  // Found when the fuzzer was given workloads as YAML: the first and the last were errors of the
  // parser's own.
  t.deepEqual(problems('name: w\nfunctions: *f\n'), ['line 2: no &f before *f']);
  t.deepEqual(problems('name: w\nfunctions: &f [*f]\n'), ['line 2: *f is part of &f itself']);
  // Ten of ten of ten of ten: the parser stops at a hundred times as many as are written.
  const ten = (of: string) => `[${Array(10).fill(of).join(', ')}]`;
  const found = problems(
    `a: &a ${ten('1')}\nb: &b ${ten('*a')}\nc: &c ${ten('*b')}\nd: ${ten('*c')}\n`,
  );
  t.is(found.length, 1);
  t.regex(found[0]!, /alias/i);
});

test('an activation is drawn by its own streams: another function changes nothing', (t) => {
  const random = {
    arrivals: { ratePerSecond: 5, seconds: 20 },
    profile: { ...PROFILE, cpuMs: { exponential: { mean: 10 } } },
  };
  const alone = planWorkload(workload({}, random));
  const f = workload({}, random).functions[0]!;
  const both = planWorkload(workload({ functions: [{ ...f, name: '/guest/another' }, f] }));
  const of = (plan: typeof both, index: number) =>
    [...plan.arrival]
      .map((at, i) => [at, plan.cpu[i], plan.fn[i]])
      .filter(([, , fn]) => fn === index)
      .map(([at, cpu]) => [at, cpu]);
  t.deepEqual(of(both, 1), of(alone, 0));
  t.notDeepEqual(of(both, 0), of(alone, 0));
});

test('arrivals: a count per minute, a Poisson count, or equal gaps', (t) => {
  const counts = [3, 0, 5];
  const minuteOf = (within: 'uniform' | 'poisson' | 'even', perMinute = counts) =>
    [...planWorkload(workload({}, { arrivals: { perMinute, within } })).arrival].map((at) =>
      Math.floor(at / 60e6),
    );
  t.deepEqual(minuteOf('uniform'), [0, 0, 0, 2, 2, 2, 2, 2]);
  t.deepEqual(
    [...planWorkload(workload({}, { arrivals: { perMinute: [3], within: 'even' } })).arrival],
    [10e6, 30e6, 50e6],
  );
  // 400 minutes of mean 25: the sum is 10,000 with a standard deviation of 100.
  const many = minuteOf(
    'poisson',
    Array.from({ length: 400 }, () => 25),
  );
  t.true(Math.abs(many.length - 10_000) < 400, `${many.length}`);
  const perMinute = Array.from(
    { length: 400 },
    (_, i) => many.filter((minute) => minute === i).length,
  );
  const variance = perMinute.reduce((sum, n) => sum + (n - many.length / 400) ** 2, 0) / 399;
  // Poisson: the variance is the mean; its own relative deviation here is .07.
  t.true(Math.abs(variance / 25 - 1) < 0.28, `${variance}`);
});

test('a rate gives Poisson gaps', (t) => {
  const { arrival } = planWorkload(
    workload({}, { arrivals: { ratePerSecond: 10, seconds: 1000 } }),
  );
  t.true(Math.abs(arrival.length - 10_000) < 400);
  let squares = 0;
  for (let i = 1; i < arrival.length; i++) squares += ((arrival[i]! - arrival[i - 1]!) / 1e5) ** 2;
  // Exponential gaps of mean 1: the second moment is 2.
  t.true(Math.abs(squares / arrival.length / 2 - 1) < 0.12);
});

test('a payload scales work and memory by its own exponents', (t) => {
  const payload = { sigma: 0.5, cpu: 1, memory: 0.5 };
  const plan = planWorkload(
    workload(
      {},
      {
        profile: { ...PROFILE, payload },
        arrivals: { atMs: Array.from({ length: 200 }, (_, i) => i) },
      },
    ),
  );
  for (let i = 0; i < plan.count; i++) {
    t.true(Math.abs(plan.cpu[i]! - 10_000 * plan.payload[i]!) < 1e-6);
    t.is(plan.peak[i], Math.round((40 + 20 * Math.sqrt(plan.payload[i]!)) * 1024 * 1024));
  }
});

test('only durations above 1 s are compressed, by the factor, never below 300 ms', (t) => {
  const compression = { time: 10, duration: 10, aboveMs: 1000, floorMs: 300 };
  const after = (ms: number) => Math.round(ms * compressionOf(ms, compression));
  t.is(after(999), 999);
  t.is(after(1000), 1000);
  t.is(after(2000), 300);
  t.is(after(3000), 300);
  t.is(after(9000), 900);
  t.is(after(300_000), 30_000);
});

test('the ten-function trace fits into ten minutes, and a part of it into 90 s', (t) => {
  const full = azureTen();
  const plan = planWorkload(full);
  t.is(plan.count, 268);
  t.is(plan.spanMicros, 360_000_000);
  t.true(plan.cpu.reduce((sum, micros) => sum + micros, 0) / (plan.spanMicros * 2) < 0.5);
  const recorded = planWorkload(checkWorkload({ ...azureTen(), compression: {} }));
  for (let i = 0; i < plan.count; i++) {
    const solo = (p: typeof plan) =>
      soloMs(full.functions[p.fn[i]!]!, p.cpu[i]! / 1000, p.io[i]! / 1000);
    // Same activations in the same order: arrivals are divided alike.
    if (solo(recorded) <= 1000) t.is(solo(plan), solo(recorded));
    else t.true(Math.abs(solo(plan) - Math.max(300, solo(recorded) / 10)) < 0.01);
  }
  const part = planWorkload(takeMinutes(full, 0, 14));
  t.is(part.spanMicros, 84_000_000);
  t.true(part.count >= 50, `${part.count}`);
});

test('minutes are cut out of every kind of arrivals', (t) => {
  const cut = (
    arrivals: WorkloadInput['functions'][number]['arrivals'],
    from: number,
    count: number,
  ) => takeMinutes(workload({}, { arrivals }), from, count).functions[0]!.arrivals;
  t.like(cut({ perMinute: [1, 2, 3, 4] }, 1, 2), { perMinute: [2, 3] });
  t.like(cut({ ratePerSecond: 2, seconds: 150 }, 1, 1), { ratePerSecond: 2, seconds: 60 });
  // 150 s end half a minute into the third.
  t.like(cut({ ratePerSecond: 2, seconds: 150 }, 2, 3), { ratePerSecond: 2, seconds: 30 });
  t.like(cut({ ratePerSecond: 2, seconds: 150 }, 3, 2), { perMinute: [0, 0] });
  t.deepEqual(cut({ atMs: [59_999, 60_000, 119_999, 120_000] }, 1, 1), {
    atMs: [0, 59_999],
    spanMs: 60_000,
  });
  t.like(cut({ atMs: [1] }, 1, 1), { perMinute: [0] });
});

test('at least two shipped functions can use more CPU than their quota, most less', (t) => {
  const wants = azureTen().functions.map(
    (fn) => fn.profile.parallelism / (fn.userCpuMillicores! / 1000),
  );
  t.is(wants.filter((ratio) => ratio > 1).length, 3);
  t.is(wants.filter((ratio) => ratio < 0.9).length, 7);
});

test('quantiles run geometrically between two points', (t) => {
  const distribution = {
    quantiles: [
      [0, 10],
      [0.5, 40],
      [1, 40],
    ] as [number, number][],
  };
  t.is(quantile(distribution, 0), 10);
  // Half of the way from 10 to 40 by ratio is 20.
  t.true(Math.abs(quantile(distribution, 0.25) - 20) < 1e-12);
  t.is(quantile(distribution, 0.75), 40);
  t.is(
    quantile(
      {
        quantiles: [
          [0, 0],
          [1, 8],
        ],
      },
      0.5,
    ),
    4,
  );
  t.is(quantile(7, 0.3), 7);
});

test('a scaled distribution has scaled values', (t) => {
  const kinds = [
    5,
    {
      quantiles: [
        [0, 10],
        [1, 40],
      ] as [number, number][],
    },
    { lognormal: { median: 20, sigma: 0.4 } },
    { lognormal: { median: 20, sigma: 0 } },
    { exponential: { mean: 8 } },
  ];
  for (const kind of kinds) {
    for (const u of [0.1, 0.5, 0.9])
      t.true(Math.abs(quantile(scaled(kind, 3), u) / (3 * quantile(kind, u)) - 1) < 1e-9);
  }
});

test('the normal quantile is the textbook one', (t) => {
  for (const [u, z] of [
    [0.5, 0],
    [0.975, 1.959963985],
    [0.01, -2.326347874],
    [0.999, 3.090232306],
  ] as const) {
    t.true(Math.abs(normalQuantile(u) - z) < 1e-7, `${u}`);
  }
});

testProp(
  'stratified draws lie one in each slice',
  [fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 1000 })],
  (t, count, seed) => {
    const plan = planWorkload(
      workload(
        { draws: 'stratified', seed },
        {
          arrivals: { atMs: Array.from({ length: count }, (_, i) => i) },
          profile: {
            ...PROFILE,
            cpuMs: {
              quantiles: [
                [0, 0],
                [1, 1],
              ],
            },
          },
        },
      ),
    );
    const slices = [...plan.cpu]
      .map((cpu) => Math.floor((cpu / 1000) * count))
      .sort((a, b) => a - b);
    t.deepEqual(
      slices,
      Array.from({ length: count }, (_, i) => i),
    );
  },
);
