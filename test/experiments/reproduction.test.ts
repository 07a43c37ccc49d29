import test from 'ava';
import { decidedMisses, goalLines } from '../../experiments/reproduction.js';

test('four seeds decide no goal, five do', (t) => {
  const missed = ['cold starts not told apart as fewer'];
  t.deepEqual(goalLines(missed, 4), ['- Undecided: 4 of at least 5 seeds.']);
  t.deepEqual(decidedMisses(missed, 4), []);
  t.deepEqual(goalLines(missed, 5), ['- Missed: cold starts not told apart as fewer.']);
  t.deepEqual(decidedMisses(missed, 5), missed);
  t.deepEqual(goalLines([], 5), ['- Met.']);
});
