import { fc, testProp } from '@fast-check/ava';
import test from 'ava';
import { significant } from '../../config/index.js';

test('figures lose floating-point noise, and times in microseconds keep all digits', (t) => {
  t.is(significant(766.6666666671317), 766.666667);
  t.is(significant(0.1 + 0.2), 0.3);
  t.is(significant(268_435_456), 268_435_456);
  // A wall clock in microseconds has a fraction: with nine digits it would be ten seconds wide.
  t.is(significant(1_795_916_849_559_823.8), 1_795_916_849_559_824);
  t.is(significant(-1_234_567_890.4), -1_234_567_890);
});

testProp(
  'whatever the figure, it is changed by less than a millionth or by half',
  [fc.double({ noNaN: true })],
  (t, value) => {
    if (!Number.isFinite(value)) t.is(significant(value), value);
    else t.true(Math.abs(significant(value) - value) <= Math.min(0.5, Math.abs(value) * 1e-6));
  },
);
