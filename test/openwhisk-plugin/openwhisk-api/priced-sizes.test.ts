import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { type Bytes, MIB, type Millis, mebibytes } from '../../../config/index.js';
import { memoryMarket, pricedSize } from '../../../openwhisk-plugin/openwhisk-api/priced-sizes.js';
import { countPeak, excessChance, noPeakExcess } from '../../../rules/index.js';
import { adviceOf } from './advice.js';

const host = (mib: number) => ({ host: 'invoker-1', userMemory: mebibytes(mib) });
const sized = (
  evictionRate: number,
  changes: Parameters<typeof adviceOf>[1] = {},
  peaks = noPeakExcess(),
): number => {
  const one = adviceOf('/guest/f', { containers: 1, rate: 0.01, evictionRate, ...changes });
  return pricedSize(one, mebibytes(512), memoryMarket([one], [host(16_384)]), peaks) / MIB;
};

test('the price is evictions over the memory that containers ask for', (t) => {
  const advice = [
    adviceOf('/guest/a', { limitMiB: 256, containers: 3, evictionRate: 0.2 }),
    adviceOf('/guest/b', { limitMiB: 128, containers: 2, evictionRate: 0.05 }),
  ];
  t.like(memoryMarket(advice, [host(4096), host(2048)]), {
    asked: 1024,
    evictions: 0.25,
    price: 0.25 / 1024,
    hostMemory: mebibytes(3072),
  });
});

test('if nothing is evicted, memory is free and no size is changed', (t) => {
  t.is(sized(0), 512);
});

test('at a high price the size is the peak, at a lower one farther above it', (t) => {
  // Four activations with a peak of 128 MiB. One eviction a second and 512 MiB asked for: each MiB
  // costs 3600 / 512 = 7 cold starts an hour, a higher peak at most 4 x 4 x 1 / 5 in all.
  t.is(sized(1, { activations: 4 }), 128);
  const cheap = sized(0.001, { activations: 4 });
  t.true(cheap > 128 && cheap < 512, `${cheap}`);
});

test('few activations keep a larger size, until all functions show narrow peaks', (t) => {
  const few = sized(0.001, { activations: 4 });
  t.true(few > sized(0.001, { activations: 4000 }), `${few}`);
  const narrow = noPeakExcess();
  for (let i = 0; i < 1000; i++) countPeak(narrow, 4, 1, 1);
  t.true(sized(0.001, { activations: 4 }, narrow) < few);
});

test('a function that fills a quarter of a host, or was OOM-killed, keeps its user’s size', (t) => {
  // 9 activations running in 512 MiB each are more than 4 of 16 GiB.
  t.is(sized(1, { rate: 9, busy: 1000 as Millis, containers: 9 }), 512);
  t.true(sized(1, { rate: 7, busy: 1000 as Millis, containers: 7 }) < 512);
  t.is(sized(1, { kills: 1, killedAt: mebibytes(192) }), 512);
});

test('the chance of a higher peak is counted by evidence and by how much higher', (t) => {
  const table = noPeakExcess();
  for (let i = 0; i < 80; i++) countPeak(table, 10, 1, i < 8 ? 1.3 : 1);
  // 8 of 80, beside 20 assumed ones with 1 / 11 x 1.1^-8.
  const assumed = (20 / 11) * 1.1 ** -8;
  t.true(Math.abs(excessChance(table, 10, 1.1) - (8 + assumed) / 100) < 1e-12);
  t.true(excessChance(table, 10, 1.4) < 0.01);
  // Another amount of evidence knows nothing of it.
  t.true(excessChance(table, 100, 1.1) < 0.01);
});

testProp(
  'a priced size is the one it has, or between the peak and the user’s, and not below 128 MiB',
  [
    fc.integer({ min: 1, max: 512 }),
    fc.integer({ min: 1, max: 5000 }),
    fc.double({ min: 0, max: 5, noNaN: true }),
    fc.double({ min: 0.0001, max: 5, noNaN: true }),
  ],
  (t, peakMiB, activations, evictionRate, rate) => {
    const recent = mebibytes(peakMiB) as Bytes;
    const size = sized(evictionRate, { recent, highest: recent, activations, rate });
    t.true(size === 512 || (size >= 128 && size >= peakMiB && size <= 512), `${size}`);
  },
  { numRuns: 200 },
);
