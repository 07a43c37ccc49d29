import test from 'ava';
import { promotion } from '../../../agents/ppo/health.js';
import { EntropyWatch } from '../../../agents/ppo/index.js';

test('an entropy below .01 for 100 updates is a collapse and prevents promotion', (t) => {
  const watch = new EntropyWatch(5);
  for (let i = 0; i < 99; i++) t.is(watch.record(0.009), 'learning');
  t.is(watch.record(0.009), 'collapsed');
  t.deepEqual(promotion([2], [1], watch.verdict), {
    promoted: false,
    agentMean: 2,
    baselineMean: 1,
    reason: 'collapsed',
  });
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

test('an agent that earns less than do-nothing is not promoted; both figures are reported', (t) => {
  t.deepEqual(promotion([0.5, 0.7], [0.8, 0.8], 'learning'), {
    promoted: false,
    agentMean: 0.6,
    baselineMean: 0.8,
    reason: 'below-baseline',
  });
  t.true(promotion([0.9, 0.9], [0.8, 0.8], 'learning').promoted);
  t.false(promotion([0.8], [0.8], 'learning').promoted);
  t.is(promotion([], [], 'learning').reason, 'no-data');
  t.is(promotion([1, 2], [1], 'learning').reason, 'no-data');
});
