import test from 'ava';
import type { View } from '../../../agents/index.js';
import type { Millicores, Millis } from '../../../config/index.js';
import { NewFunctionActivationLog } from '../../../experiments/new-function/activation-log.js';
import { constantManager } from '../../../experiments/new-function/constant.js';
import {
  NEW_FUNCTIONS,
  newFunctionWorkload,
} from '../../../experiments/new-function/new-function.js';
import { newFunctionReport } from '../../../experiments/new-function/reproduce.js';
import {
  type NewFunctionRun,
  newFunctionStudy,
  newFunctionTables,
} from '../../../experiments/new-function/study.js';
import { ClusterOutcome } from '../../../simulator/engine/index.js';
import { expectedLoad, profiles12 } from '../../../simulator/workload/index.js';
import { observation } from '../../support/observations.js';

test('one function of the twelve comes later, and none is called faster for it', (t) => {
  const [newFunction] = NEW_FUNCTIONS;
  const workload = newFunctionWorkload({
    newFunction: newFunction!,
    before: 3,
    after: 7,
    load: 0.7,
    cores: 4,
  });
  const of = workload.functions.find(({ name }) => name === newFunction)!;
  if (!('perMinute' in of.arrivals)) throw new Error('its activations come by minutes');
  const { perMinute } = of.arrivals;
  t.deepEqual(perMinute.slice(0, 3), [0, 0, 0]);
  // 2.5 a second as the profile has it, all rates raised from the usual load to .7 of four cores.
  const usual = profiles12();
  t.is(perMinute[3], Math.round((60 * 2.5 * 0.7) / expectedLoad(usual, 4)));
  t.is(perMinute.length, 10);
});

test('offline a new function gets exactly the fallback’s decisions', (t) => {
  const request = { seeds: [1], modes: ['quota'], before: 2, after: 10, load: 0.7 } as const;
  const [run] = newFunctionStudy(request);
  // Ten minutes are less than the ten episodes of 100 steps that it watches at least.
  t.deepEqual(Object.keys(run!.phases), ['offline']);
  t.deepEqual(run!.figures.aware, run!.figures.fallback);
  t.false(run!.served);
  t.is(run!.learning, 10);
  t.is(run!.afterwards, null);
  const [table] = newFunctionTables([run!]);
  t.deepEqual(
    table!.rows.map(({ contender }) => contender),
    ['do-nothing', 'fallback', 'aware', 'constant'],
  );
  t.is(table!.rows[0]!.difference.mean, 0);
  const report = newFunctionReport([run!], request, 'gleaner reproduce new-function');
  t.false(/NaN|undefined|Infinity/.test(report), report);
});

test('the goal is judged against doing nothing', (t) => {
  const request = { seeds: [1], modes: ['weight'], before: 1, after: 2, load: 0.2 } as const;
  const [run] = newFunctionStudy(request);
  const withP99 = (p99: number) => ({
    ...run!,
    figures: {
      ...run!.figures,
      'do-nothing': { p99: 1.5, failures: 0 },
      aware: { p99, failures: 0 },
    },
  });
  const within = (p99: number): number =>
    newFunctionTables([withP99(p99)])[0]!.rows.find(({ contender }) => contender === 'aware')!
      .within;
  t.is(within(1.549), 1);
  t.is(within(1.551), 0);
  const page = (p99: number, count: number, more: readonly NewFunctionRun[] = []): string => {
    const seeds = Array.from({ length: count }, (_, i) => i + 1);
    return newFunctionReport(
      [...seeds.slice(more.length).map(() => withP99(p99)), ...more],
      { ...request, seeds },
      'x',
    );
  };
  t.regex(page(1.6, 5), /Missed.*above doing nothing in 0 of 5 seeds/s);
  // One seed in which doing nothing fails often makes a mean that hides all others.
  const failing = withP99(1.5);
  const { figures } = failing;
  const lucky = { ...failing, figures: { ...figures, 'do-nothing': { p99: 264, failures: 9 } } };
  t.regex(page(1.6, 5, [lucky]), /Missed.*above doing nothing in 1 of 5 seeds/s);
  // (264 + 4 x 1.5) / 5, beside which the median says what a usual seed does.
  t.regex(page(1.6, 5, [lucky]), /^\| weight \| do-nothing \| 54\.000 \(.*\) \| 1\.500 \| /m);
  t.regex(page(1.5, 5), /^- Met\.$/m);
  t.regex(page(1.5, 1), /^- Undecided: 1 of at least 5 seeds\.$/m);
  // A window without activations has no p99, so nothing is within.
  t.is(within(Number.NaN), 0);
  t.regex(page(Number.NaN, 5), /Missed: weight mode: .* in 0 of 5 seeds/);
});

test('a failed activation counts as one that took its whole time limit', (t) => {
  const log = new NewFunctionActivationLog(3, 60_000);
  const activation = {
    activation: 0,
    fn: 3,
    host: 0,
    start: 0,
    outcome: ClusterOutcome.success,
    arrivedAt: 1_000_000,
    placedAt: 1_010_000,
    runAt: 1_500_000,
    endedAt: 1_700_000,
    cpu: 100_000,
    soloMicros: 100_000,
    userMicros: 100_000,
  };
  log.record(activation);
  // Killed early: it counts 60 s over .1 s alone. Its wait for a container was 10 ms.
  log.record({ ...activation, arrivedAt: 2_000_000, outcome: ClusterOutcome.outOfMemory });
  log.record({ ...activation, fn: 4 });
  t.deepEqual(log.slowdownsBetween(0, 10_000), [2.1, 600]);
  t.is(log.failures(0, 10_000), 1);
  t.deepEqual(log.slowdownsBetween(0, 2000), [2.1]);
  t.is(log.failures(0, 2000), 0);
});

test('the best constant asks for a weight by weight and for the least by quota', (t) => {
  const decided = (cpuMode: 'weight' | 'quota') => {
    const manager = constantManager();
    const view = { observation: observation({ cpuMode }) } as View;
    return manager.decide(manager.initialState('/_/f'), view, 0 as Millis).decision;
  };
  t.is(decided('weight').weightFactor, 2);
  t.is(decided('weight').cpu, undefined);
  t.is(decided('quota').cpu, 1 as Millicores);
  t.is(decided('quota').weightFactor, undefined);
});
