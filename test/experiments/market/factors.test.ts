import test from 'ava';
import { type FactorPlan, searchPlans, slackPlan } from '../../../experiments/market/factors.js';
import { BUILT, HELD_OUT, mixWorkload } from '../../../experiments/market/mixes.js';
import { expectedLoad } from '../../../simulator/workload/index.js';

/** Fewest late where function 0 has 4, and function 1 has .25 in the first phase and 2 after it. */
const late = (plan: FactorPlan): number[] =>
  [0, 1].map(
    (phase) =>
      Math.abs(Math.log2(plan(0, phase)) - 2) +
      Math.abs(Math.log2(plan(1, phase)) - (phase === 0 ? -2 : 1)),
  );

test('a search finds the best factor over all phases, and that of each phase', (t) => {
  const { fixed, phased } = searchPlans(2, 2, late);
  t.deepEqual([phased(0, 0), phased(0, 1), phased(1, 0), phased(1, 1)], [4, 4, 0.25, 2]);
  t.is(fixed(0, 0), 4);
  // Over both phases all from 1/4 to 2 are as good: it stays 1.
  t.is(fixed(1, 0), 1);
});

test('by slack, a function with the mean slack keeps its weight', (t) => {
  const workload = mixWorkload(BUILT[0]!);
  const plan = slackPlan(workload, 1);
  const logs = workload.functions.map((_, fn) => Math.log(plan(fn, 0)));
  t.true(Math.max(...logs) > 0 && Math.min(...logs) < 0);
  t.true(workload.functions.every((_, fn) => slackPlan(workload, 0)(fn, 0) === 1));
});

test('each phase of a mix has its load', (t) => {
  for (const mix of [...BUILT, ...HELD_OUT]) {
    const workload = mixWorkload(mix);
    mix.loads.forEach((load, phase) => {
      const functions = workload.functions.map((fn) => {
        const { arrivals } = fn;
        if (!('perMinute' in arrivals)) throw new TypeError('no counts');
        return { ...fn, arrivals: { ...arrivals, perMinute: [arrivals.perMinute[phase]!] } };
      });
      // Counts are whole numbers.
      t.true(Math.abs(expectedLoad({ ...workload, functions }, 8) - load) < 0.01, mix.name);
    });
  }
});

test('mixes while building and held-out ones share no function', (t) => {
  const profiles = (mixes: typeof BUILT): string[] =>
    mixes.flatMap((mix) =>
      mixWorkload(mix).functions.map(({ profile }) => JSON.stringify(profile)),
    );
  const built = new Set(profiles(BUILT));
  t.false(profiles(HELD_OUT).some((profile) => built.has(profile)));
});
