import test from 'ava';
import { SLOWDOWN_EDGES, Slowdowns, shareAbove } from '../../../experiments/compare/slowdowns.js';
import {
  ClusterOutcome,
  type SimulatedActivation,
  StartKind,
} from '../../../simulator/engine/index.js';

const ENDED: SimulatedActivation = {
  activation: 0,
  fn: 0,
  host: 0,
  start: StartKind.warm,
  outcome: ClusterOutcome.success,
  arrivedAt: 0,
  placedAt: 0,
  runAt: 1000,
  endedAt: 3000,
  cpu: 1000,
  soloMicros: 1000,
  userMicros: 1000,
};

test('what counts is the run and the wait for room; the response has the start in it too', (t) => {
  const slowdowns = new Slowdowns(2);
  slowdowns.record(ENDED);
  slowdowns.record({ ...ENDED, fn: 1, endedAt: 2000 });
  // 2000 us and 1000 us of running, 3000 and 2000 of response, alone 1000.
  t.is(slowdowns.service.mean, 1.5);
  t.is(slowdowns.response.mean, 2.5);
  t.is(slowdowns.service.slowShare, 0.5);
  t.is(slowdowns.oracleMeanMs, 1);
  t.deepEqual([...slowdowns.perFunction], [2, 1]);
  t.deepEqual([...slowdowns.successes], [1, 1]);
  t.is(slowdowns.mostAheadMicros, 0);
  t.is(slowdowns.worstFunction, 0, 'one activation says nothing');
});

test('who queues activations has their wait in his slowdown', (t) => {
  const slowdowns = new Slowdowns(1);
  // 4 ms until there was room and the 2 ms that ENDED runs, over 1 ms alone.
  slowdowns.record({
    ...ENDED,
    placedAt: ENDED.placedAt + 4000,
    runAt: ENDED.runAt + 4000,
    endedAt: ENDED.endedAt + 4000,
  });
  t.is(slowdowns.service.mean, 6);
});

test('what failed has no slowdown', (t) => {
  const slowdowns = new Slowdowns(1);
  slowdowns.record({ ...ENDED, outcome: ClusterOutcome.timeout });
  t.is(slowdowns.service.mean, 0);
  t.is(slowdowns.oracleMeanMs, 0);
  t.is(slowdowns.service.quantile(0.99), 0);
});

test('being ahead of the oracle is noticed', (t) => {
  const slowdowns = new Slowdowns(1);
  slowdowns.record({ ...ENDED, endedAt: 1990 });
  t.is(slowdowns.mostAheadMicros, 10);
  t.is(slowdowns.service.mean, 1, 'and counts as 1');
});

test('quantiles are right to a bucket of 5 %', (t) => {
  const slowdowns = new Slowdowns(1);
  // Slowdowns 1.00, 1.01 ... 10.99.
  for (let i = 0; i < 1000; i++) slowdowns.record({ ...ENDED, endedAt: 2000 + 10 * i });
  for (const [share, value] of [
    [0.5, 6],
    [0.99, 10.9],
  ] as const)
    t.true(Math.abs(slowdowns.service.quantile(share) / value - 1) < 0.05);
  t.true(Math.abs(slowdowns.worstFunction - 5.995) < 1e-9, 'mean of 1 to 10.99');
});

test('shares above each edge', (t) => {
  t.deepEqual(shareAbove([2, 1, 1, 0]), [1, 0.5, 0.25, 0]);
  t.deepEqual(shareAbove([0, 0]), [0, 0]);
  t.is(SLOWDOWN_EDGES[0], 1);
});
