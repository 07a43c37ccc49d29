import test from 'ava';
import { MIB } from '../../config/index.js';
import { memoryAfterOom } from '../../rules/index.js';

// The VPA's defaults: OOMBumpUpRatio 1.2 and OOMMinBumpUp 100 * 1024 * 1024 bytes.
test('an OOM kill raises the memory by 20 %, at least by 100 MiB', (t) => {
  t.is(memoryAfterOom(256 * MIB), 356 * MIB);
  t.is(memoryAfterOom(500 * MIB), 600 * MIB);
  t.is(memoryAfterOom(1000 * MIB), 1200 * MIB);
});
