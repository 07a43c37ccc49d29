import test from 'ava';
import { EntropyWatch } from '../../../agents/ppo/index.js';

test('an entropy below .01 for 100 updates is a collapse', (t) => {
  const watch = new EntropyWatch(5);
  for (let i = 0; i < 99; i++) t.is(watch.record(0.009), 'learning');
  t.is(watch.record(0.009), 'collapsed');
  t.is(watch.record(0.5), 'learning');
});

test('an entropy that stays at its maximum for 100 updates: nothing is learned', (t) => {
  const watch = new EntropyWatch(5);
  // .95 ln 5 = 1.529
  for (let i = 0; i < 99; i++) watch.record(1.6);
  t.is(watch.verdict, 'learning');
  t.is(watch.record(1.6), 'uniform');
  t.is(watch.record(1.52), 'learning');
});
