import test from 'ava';
import fc from 'fast-check';
import { ActivationColumns } from '../../../simulator/engine/activations.js';
import { TimerList } from '../../../simulator/engine/timer-list.js';

/** Few instants, so that several activations are due at one. */
const steps = fc.array(
  fc.record({ remove: fc.boolean(), at: fc.integer({ min: 1, max: 4 }), which: fc.nat() }),
  { maxLength: 60 },
);

test('the first timer is the earliest, and of equal ones the first in the list', (t) => {
  fc.assert(
    fc.property(steps, (list) => {
      const c = new ActivationColumns();
      const timers = new TimerList(c, 1);
      // The list as it is defined: the last one takes the place of one that is removed.
      const expected: number[] = [];
      let made = 0;
      for (const { remove, at, which } of list) {
        if (remove && expected.length > 0) {
          const place = which % expected.length;
          timers.remove(expected[place]!);
          const last = expected.pop()!;
          if (place < expected.length) expected[place] = last;
        } else {
          c.dueAt[made] = at;
          timers.add(made);
          expected.push(made++);
        }
        const due = Math.min(...expected.map((a) => c.dueAt[a]!));
        t.is(timers.next(0), due);
        const first = expected.find((a) => c.dueAt[a] === due);
        if (first !== undefined) t.is(timers.first(0), first);
      }
    }),
  );
});
