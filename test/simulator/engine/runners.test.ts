import test from 'ava';
import fc from 'fast-check';
import { ActivationColumns } from '../../../simulator/engine/activations.js';
import { Runners } from '../../../simulator/engine/runners.js';

const CORES = 4;

/** Activations with caps of 1 or 2 cores, weights in tenths: equal ratios and odd sums occur. */
const activations = fc.array(
  fc.record({ cap: fc.constantFrom(1, 2), weight: fc.integer({ min: 1, max: 40 }) }),
  { minLength: 1, maxLength: 12 },
);

/** A divided host, and then one activation more. */
function hostOf(list: readonly { readonly cap: number; readonly weight: number }[]): Runners {
  const c = new ActivationColumns();
  const runners = new Runners(c, 1);
  list.forEach(({ cap, weight }, a) => {
    c.cap[a] = cap;
    c.weight[a] = weight / 10;
    c.ratio[a] = c.cap[a]! / c.weight[a]!;
    if (a === list.length - 1) runners.divide(0, CORES);
    runners.add(a);
  });
  return runners;
}

const order = (runners: Runners): Int32Array => runners.on(0).slice(0, runners.counts[0]!);

test('adding the last one again is removing and adding it, to the last bit', (t) => {
  fc.assert(
    fc.property(activations, (list) => {
      const last = list.length - 1;
      const again = hostOf(list);
      const other = hostOf(list);
      t.true(again.addAgain(last));
      other.remove(last);
      other.add(last);
      t.deepEqual(order(again), order(other));
      t.is(again.satisfied[0], other.satisfied[0]);
      t.is(again.caps(0), other.caps(0));
      t.is(again.divide(0, CORES), other.divide(0, CORES));
      t.false(again.addAgain(last));
    }),
  );
});

test('an activation goes behind its equals as if it were removed and added', (t) => {
  fc.assert(
    fc.property(activations, fc.nat(), (list, seed) => {
      const a = seed % list.length;
      const moved = hostOf(list);
      const other = hostOf(list);
      moved.moveBehindEquals(a);
      other.remove(a);
      other.add(a);
      t.deepEqual(order(moved), order(other));
    }),
  );
});
