import test from 'ava';
import fc from 'fast-check';
import { intersectUserMemory, sharesOf, userMemoryRange } from '../../rules/index.js';

test('shares are 1024 over the number of containers that fit, divided as integers', (t) => {
  // Observed with an OpenWhisk invoker: 128 for 256 MB of 2048; 64 for 128 MB.
  t.is(sharesOf(256, 2048), 128);
  t.is(sharesOf(128, 2048), 64);
  // 1024 / 300 = 3 (integers), 1024 / 3 = 341.33: 341.
  t.is(sharesOf(300, 1024), 341);
  // More than 512 containers would fit: never below 2.
  t.is(sharesOf(128, 1_048_576), 2);
});

test('the shares that OpenWhisk gives show a range that contains the user-memory', (t) => {
  const mebibytes = fc.integer({ min: 128, max: 65_536 });
  fc.assert(
    fc.property(mebibytes, mebibytes, mebibytes, (userMemory, ...sizes) => {
      let known = { low: 0, high: Number.POSITIVE_INFINITY };
      for (const memory of sizes.map((size) => Math.min(size, userMemory))) {
        const range = userMemoryRange(memory, sharesOf(memory, userMemory));
        if (range !== null) known = intersectUserMemory(known, range);
      }
      return known.low <= userMemory && userMemory < known.high;
    }),
  );
  t.pass();
});

test('the range is that of the integer division; 600 of 1024 shares contradict it', (t) => {
  // Eight of 256 MiB have 1024 / 8 = 128 shares each: from 8 x 256 to below 9 x 256.
  t.deepEqual(userMemoryRange(256, 128), { low: 2048, high: 2304 });
  // 204 or 203 containers of 5 shares are as many as 171: 1024 / 171 = 5.99.
  t.deepEqual(userMemoryRange(256, 5), { low: 171 * 256, high: 205 * 256 });
  t.deepEqual(userMemoryRange(256, 1024), { low: 256, high: 512 });
  // One has 1024 shares and two have 512 each.
  t.deepEqual(userMemoryRange(256, 600), { low: 512, high: 512 });
  for (const shares of [0, 2, 1025, Number.NaN]) t.is(userMemoryRange(256, shares), null);
  t.is(userMemoryRange(0, 128), null);
});
