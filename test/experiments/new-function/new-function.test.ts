import test from 'ava';
import {
  NEW_FUNCTIONS,
  newFunctionWorkload,
} from '../../../experiments/new-function/new-function.js';
import { newFunctionReport } from '../../../experiments/new-function/reproduce.js';
import { newFunctionStudy, newFunctionTables } from '../../../experiments/new-function/study.js';
import { expectedLoad, profiles12 } from '../../../simulator/workload/index.js';

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
  if (!('perMinute' in of.arrivals)) throw new Error('its calls are told by minutes');
  const { perMinute } = of.arrivals;
  t.deepEqual(perMinute.slice(0, 3), [0, 0, 0]);
  // 2.5 a second as the profile has it, all rates raised from the usual load to .7 of four cores.
  const usual = profiles12();
  t.is(perMinute[3], Math.round((60 * 2.5 * 0.7) / expectedLoad(usual, 4)));
  t.is(perMinute.length, 10);
});

test('offline a new function gets exactly the fallback’s decisions', (t) => {
  const request = {
    seeds: [1],
    modes: ['quota'],
    before: 2,
    after: 10,
    load: 0.7,
    repeats: 2,
  } as const;
  const [run] = newFunctionStudy(request);
  // Ten minutes are less than the ten episodes of 100 steps that it watches at least.
  t.deepEqual(Object.keys(run!.phases), ['offline']);
  t.deepEqual(run!.others.aware, run!.fallback[0]);
  t.false(run!.served);
  t.is(run!.learning, 10);
  t.is(run!.afterwards, null);
  const [table] = newFunctionTables([run!]);
  const aware = table!.rows.find(({ contender }) => contender === 'aware')!;
  t.is(aware.difference.mean, 0);
  t.is(aware.within, 1);
  const report = newFunctionReport([run!], request, 'gleaner reproduce new-function');
  t.false(/NaN|undefined|Infinity/.test(report), report);
});
