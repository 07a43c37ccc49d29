import test from 'ava';
import {
  scaleShares,
  shortFirstFactor,
  targetFactor,
} from '../../../openwhisk-plugin/decision/weights.js';

const BAD = [0, -1, Number.NaN];

test('one unknown is enough for no short-first factor', (t) => {
  for (const bad of BAD) {
    t.is(shortFirstFactor(bad, 100, 1, 1 / 16, 16), 1, `expected ${bad}`);
    t.is(shortFirstFactor(50, bad, 1, 1 / 16, 16), 1, `reference ${bad}`);
  }
  t.is(shortFirstFactor(50, 100, Number.NaN, 1 / 16, 16), 1);
  t.is(shortFirstFactor(50, 100, 1, 1 / 16, 16), 2);
});

test('one bad input is enough for no factor of an agent', (t) => {
  for (const bad of [...BAD, Number.POSITIVE_INFINITY]) {
    t.is(targetFactor(bad, 1000), 1, `target ${bad}`);
  }
  for (const bad of [Number.NaN, -1000, Number.POSITIVE_INFINITY])
    t.is(targetFactor(1000, bad), 1, `user ${bad}`);
  t.is(targetFactor(1500, 1000), 1.5);
  t.is(targetFactor(5000, 1000), 2);
  t.is(targetFactor(100, 1000), 0.5);
});

test('one bad factor leaves the container its own shares', (t) => {
  for (const bad of [...BAD, Number.POSITIVE_INFINITY]) t.is(scaleShares(128, bad), 128, `${bad}`);
  t.is(scaleShares(128, 2), 256);
  t.is(scaleShares(128, 1e-9), 2);
  t.is(scaleShares(128, 1e9), 262_144);
});
