import test from 'ava';
import { type Micros, type Millis, micros } from '../../../../config/index.js';
import {
  ACTOR_WEIGHTS,
  Choice,
  ContainerState,
  durationFeature,
  experienceOf,
  FunctionState,
  OptionScorer,
  Run,
  rateFeature,
  shareFeature,
} from '../../../../openwhisk-plugin/decision/index.js';
import { slowdownOf } from '../../../../openwhisk-plugin/decision/policies/faasrm/experience.js';
import {
  FunctionStatistics,
  fillState,
} from '../../../../openwhisk-plugin/decision/policies/faasrm/features.js';
import { fillAmounts } from '../../../../openwhisk-plugin/decision/policies/faasrm/options.js';
import { LEVELS, STATE_FEATURES } from '../../../../rules/index.js';
import { host, limits, plain } from '../helpers.js';

const HOUR = 3_600_000;
const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-6;

function fn(): FunctionState {
  return new FunctionState('/g/f', '1', limits(256), 'guarantee', 1);
}

test('a part of a whole is its share, and nothing of nothing is 0', (t) => {
  t.is(shareFeature(1, 4), 0.25);
  t.is(shareFeature(8, 4), 1);
  for (const [part, whole] of [
    [0, 4],
    [-1, 4],
    [1, 0],
    [1, -4],
    [-1, -4],
    [Number.NaN, 4],
    [1, Number.NaN],
  ] as const)
    t.is(shareFeature(part, whole), 0, `${part} of ${whole}`);
});

test('rates and durations beyond the scale are 1, and none is 0', (t) => {
  t.is(rateFeature(1e9), 1);
  t.is(rateFeature(-1), 0);
  t.is(durationFeature(0), 0);
  // One activation an hour: ln 2 / ln(1 + 3.6e6).
  t.true(near(rateFeature(1 / 3600), Math.log(2) / Math.log1p(HOUR)));
});

test('gaps are those between arrivals: not before the first, not within one', (t) => {
  const f = fn();
  const statistics = new FunctionStatistics();
  const arrive = (now: number): void => {
    statistics.started(f, now, plain);
    f.started++;
    f.lastStart = now as Millis;
  };
  arrive(5000);
  t.is(statistics.gap.weight, 0);
  arrive(5000);
  t.is(statistics.gap.weight, 0);
  arrive(7000);
  t.is(statistics.gap.mean, 2000);
  // Three in two seconds since the first.
  t.is(statistics.rate(f, 7000), 1.5);
  t.is(statistics.rate(f, 5000), 0);
});

test('a rate counts no activation from before the policy was chosen', (t) => {
  const f = fn();
  const statistics = new FunctionStatistics();
  // One activation a second, the first 3600 under another policy.
  f.started = 3600;
  for (let now = 0; now <= 10_000; now += 1000) {
    statistics.started(f, now, plain);
    t.is(statistics.rate(f, now), now === 0 ? 0 : 1);
    f.started++;
    f.lastStart = now as Millis;
  }
});

test('the nine inputs stand in the order that the weights were trained with', (t) => {
  const f = fn();
  const statistics = new FunctionStatistics();
  statistics.started(f, 0, plain);
  f.started = 10;
  statistics.gap.add(100, 0, HOUR);
  statistics.cpuPeak.add(500, 0, HOUR);
  statistics.memoryPeak.add(2000, 0, HOUR);
  f.duration.add(50, 0, HOUR);
  f.addControl(80, 0, HOUR);
  const state = new Float32Array(STATE_FEATURES);
  const host = { running: 2, cpu: 8000, freeCpu: 0.5, freeMemory: 0.25 };
  const run = { fn: f, cpu: { user: 1000 }, memory: { user: 1000 } };
  fillState(state, run, statistics, { host, cores: 6 }, 5000);
  const expected = [
    2 / 8,
    0.5,
    0.25,
    Math.log1p(100) / Math.log1p(HOUR),
    // Ten in five seconds.
    Math.log1p(3600 * 2) / Math.log1p(HOUR),
    -1 / 3,
    1 / 3,
    Math.log1p(50) / Math.log1p(HOUR),
    Math.log1p(80) / Math.log1p(HOUR),
  ];
  for (const [i, value] of expected.entries()) t.true(near(state[i]!, value), `${i}: ${state[i]}`);
});

test('amounts are eight equal steps, or whole units that the range holds', (t) => {
  const amounts = (lower: number, upper: number, unit: number): number[] => {
    const into = new Float64Array(LEVELS + 2);
    const count = fillAmounts(into, lower, upper, unit);
    t.true(
      into.subarray(count).every((value) => value === 0),
      'nothing is written beyond',
    );
    return [...into.subarray(0, count)];
  };
  t.deepEqual(amounts(100, 800, 0), [100, 200, 300, 400, 500, 600, 700, 800]);
  t.deepEqual(amounts(1000, 3999, 1000), [1000, 2000, 3000]);
  t.deepEqual(amounts(1000, 4000, 1000), [1000, 2000, 3000, 4000], 'the upper end counts');
  t.is(amounts(1000, 20_000, 1000).length, LEVELS);
  t.deepEqual(amounts(1000, 1000, 0), [1000]);
  t.deepEqual(amounts(1000, 1000, 1000), [1000]);
  t.deepEqual(amounts(1e9, 1e9 + 1, 0), [1e9], 'a billionth is no choice');
});

/** A run of 1 s at user limits is the baseline; the mean one computes 400 ms at half a core. */
function played(startCpu: number, endCpu: number, hasBaseline = true): Run {
  const f = fn();
  if (hasBaseline) f.addControl(1000, 0, HOUR);
  f.expectedCpu.add(400, 0, HOUR);
  const run = new Run(f, new ContainerState(limits(256, 1), host()));
  run.startCpu = micros(startCpu) as Micros;
  run.endCpu = micros(endCpu) as Micros;
  return run;
}

test('a slowdown is corrected by what this activation computed more or less', (t) => {
  t.true(near(slowdownOf(played(0, 400_000), 1500, 500), 1.5));
  t.true(near(slowdownOf(played(100_000, 500_000), 1500, 500), 1.5), 'from the counter at start');
  // 200 ms of CPU more at .5 cores are 400 ms more.
  t.true(near(slowdownOf(played(0, 600_000), 1400, 500), 1));
  // No faster than the user's one core: 200 ms more.
  t.true(near(slowdownOf(played(0, 600_000), 1200, 4000), 1));
  // 400 ms less at .5 cores would leave 200 ms; at .4 cores nothing, so an eighth of the baseline.
  t.true(near(slowdownOf(played(0, 0), 1000, 500), 5));
  t.true(near(slowdownOf(played(0, 0), 1000, 400), 8));
});

test('without counters or a rate a slowdown is against the baseline alone', (t) => {
  for (const run of [played(-1, 400_000), played(-1, -1), played(600_000, 400_000)])
    t.true(near(slowdownOf(run, 1500, 500), 1.5));
  for (const rate of [0, -1, Number.NaN])
    t.true(near(slowdownOf(played(0, 600_000), 1500, rate), 1.5));
});

test('without a baseline or a duration there is no slowdown', (t) => {
  for (const duration of [0, -1, Number.NaN])
    t.is(slowdownOf(played(0, 400_000), duration, 500), Number.NaN);
  const fresh = played(0, 400_000, false);
  t.is(slowdownOf(fresh, 1500, 500), Number.NaN);
});

test('an experience has the amounts there were, and values that the message allows', (t) => {
  const choice = new Choice();
  t.is(choice.option, -1, 'nothing is chosen yet');
  choice.state.fill(0.5);
  choice.cpu.set([0.25, 0.5, 0.75]);
  choice.memory.set([0.125, 0.25]);
  choice.cpus = 2;
  choice.memories = 1;
  t.is(choice.options, 2);
  choice.option = 1;
  choice.version = 4;
  // Rounding in float32 can pass the ends.
  choice.logProbability = 1e-9;
  choice.share = 1.5;
  const sent = experienceOf(choice, 2, '/g/f');
  t.deepEqual(sent, {
    function: '/g/f',
    weights: 4,
    state: new Array(STATE_FEATURES).fill(0.5),
    cpu: [0.25, 0.5],
    memory: [0.125],
    option: 1,
    logProbability: 0,
    share: 1,
    slowdown: 2,
  });
  choice.logProbability = -0.5;
  choice.share = 0.25;
  const { logProbability, share } = experienceOf(choice, 2, '/g/f');
  t.deepEqual([logProbability, share], [-0.5, 0.25]);
});

test('of equal scores the first is the best, and one that is not finite spoils all', (t) => {
  const scorer = new OptionScorer(new Float32Array(ACTOR_WEIGHTS));
  scorer.scores.set([1, 2, 2, 0]);
  t.is(scorer.best(4), 1);
  t.is(scorer.sample(4, 0), 0);
  t.is(scorer.sample(4, 0.999), 3);
  // Draws at the boundary: e^-1 / (e^-1 + 1 + 1 + e^-2) is the share of the first.
  const first = Math.exp(-1) / (Math.exp(-1) + 2 + Math.exp(-2));
  t.deepEqual([scorer.sample(4, first - 1e-9), scorer.sample(4, first + 1e-9)], [0, 1]);
  t.is(scorer.sample(4, 1), 3, 'rounding may leave nothing');
  scorer.scores[3] = Number.NaN;
  t.deepEqual([scorer.best(4), scorer.sample(4, 0.5), scorer.best(3)], [-1, -1, 1]);
  t.throws(() => new OptionScorer(new Float32Array(3)), { message: /3 weights where 929 belong/ });
});
