import test from 'ava';
import { MIB } from '../../config/index.js';
import { recommendedSize, SIZE_RULES, smallestSize } from '../../rules/index.js';

const size = (peak: number, user: number, killedAt: number | null = null): number =>
  recommendedSize(peak * MIB, user * MIB, killedAt === null ? null : killedAt * MIB, SIZE_RULES) /
  MIB;

test('sizes are 128, 192 … 512 MiB and the user’s own', (t) => {
  const holding = (mib: number, user: number) =>
    smallestSize(mib * MIB, user * MIB, SIZE_RULES) / MIB;
  t.deepEqual(
    [1, 128, 128.1, 192, 200, 500, 900].map((mib) => holding(mib, 256)),
    [128, 128, 192, 192, 256, 512, 512],
  );
  t.is(holding(280, 300), 300, 'never past what was asked for, where that holds it');
  t.is(holding(50, 100), 100);
  t.is(holding(600, 2048), 640, 'a user above the standard range may come down to it');
});

test('the size is the peak + max(25 %, 32 MiB); the margin ends at the user’s size', (t) => {
  // 100 + 32 = 132; 150 + 37.5 = 187.5; 160 + 40 = 200; 400 + 100 = 500.
  t.deepEqual(
    [100, 150, 160, 400].map((peak) => size(peak, 512)),
    [192, 192, 256, 512],
  );
  // 250 + 62.5 and 120 + 32 are more than the user's.
  t.is(size(250, 256), 256);
  t.is(size(120, 128), 128);
  // A peak above it has been seen: 300 + 75 = 375.
  t.is(size(300, 256), 384);
});

test('an OOM kill asks for the user’s size, and at it for max(20 %, 100 MiB) more', (t) => {
  t.is(size(150, 512, 192), 512);
  // 256 + 100 = 356; 500 x 1.2 = 600 and 512 is the end of the range.
  t.is(size(100, 256, 256), 384);
  t.is(size(100, 500, 500), 512);
});
