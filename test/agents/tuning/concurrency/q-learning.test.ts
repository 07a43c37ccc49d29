import test from 'ava';
import { epsilonAt, throughputReward } from '../../../../agents/tuning/concurrency/q-learning.js';
import type { Measurement } from '../../../../agents/tuning/concurrency/sample.js';
import {
  greedyAction,
  nearestPlace,
  Q_DEFAULT,
  Q_PUBLISHED,
  type QLearningState,
  qLearning,
  stateKey,
  stepMask,
  TUNER_DEFAULT,
} from '../../../../agents/tuning/index.js';
import { type Random, SeededRandom } from '../../../../config/index.js';

const { grid } = TUNER_DEFAULT;
const position = (place: number) => ({
  grid,
  place,
  maskAt: (at: number) => stepMask(grid, grid, at),
});
const measurement = (place: number, throughput: number): Measurement => ({
  limit: 10 + 20 * place,
  throughput,
  cpu: 0.5,
  memory: 0.5,
});

/** Explores with the first draw, then takes the permitted action of that number. */
const choosing = (action: number): Random => ({
  next: () => 0,
  below: () => action,
  fork: () => choosing(action),
});

test('throughput within 5 % of the best earns 1, below that its share; a new best more', (t) => {
  // [Schuler]: r = thr/ref if thr <= .95 ref or thr >= 1.05 ref, otherwise 1.
  t.is(throughputReward(95, 100, 0.05), 0.95);
  t.is(throughputReward(95.1, 100, 0.05), 1);
  t.is(throughputReward(104.9, 100, 0.05), 1);
  t.is(throughputReward(105, 100, 0.05), 1.05);
  t.is(throughputReward(50, null, 0.05), 1);
  t.is(throughputReward(50, 0, 0.05), 1);
  t.is(throughputReward(40, 100, 0.05), 0.4);
  t.is(throughputReward(0, 100, 0.05), 0);
});

test('it acts at random up to iteration 50 and reaches the floor at 510', (t) => {
  const { epsilon } = Q_PUBLISHED;
  t.is(epsilonAt(epsilon, 0), 1);
  t.is(epsilonAt(epsilon, 50), 1);
  t.is(epsilonAt(epsilon, 51), 0.995);
  // ln(.1) / ln(.995) = 459.4 iterations after 50. A shorter schedule would never get there.
  t.true(epsilonAt(epsilon, 509) > 0.1);
  t.is(epsilonAt(epsilon, 510), 0.1);
  t.is(epsilonAt(epsilon, 100_000), 0.1);
});

test('a step adds alpha of its reward and of the best that follows', (t) => {
  const search = qLearning(Q_PUBLISHED);
  // Place 4, stay; reference 100.
  const first = search.next(search.initialState(), measurement(4, 100), position(4), choosing(1));
  t.deepEqual([first.action, first.state.reference, first.state.table], [1, 100, {}]);
  // 80 / 100 = .8, nothing known of what follows: Q = .5 x .8 = .4.
  const second = search.next(first.state, measurement(4, 80), position(4), choosing(1));
  t.deepEqual(second.state.table, { '4.5.5': [0, 0.4, 0] });
  t.is(second.state.reference, 100);
  // 120 / 100 = 1.2: .5 x .4 + .5 x (1.2 + .9 x .4) = .98; the reference follows after the reward.
  const third = search.next(second.state, measurement(4, 120), position(4), choosing(2));
  t.true(Math.abs(third.state.table['4.5.5']![1] - 0.98) < 1e-12);
  t.is(third.state.reference, 120);
  // Now at place 5: 120 / 120 is worth 1, and nothing is known of place 5 but the best of its row,
  // 0: .5.
  const fourth = search.next(third.state, measurement(5, 120), position(5), choosing(1));
  t.is(fourth.state.table['4.5.5']![2], 0.5);
});

test('a measurement at a limit that the step did not lead to is not learned from', (t) => {
  const search = qLearning(Q_PUBLISHED);
  // The target was place 5; an operator set place 9.
  const { state } = search.next(
    search.initialState(),
    measurement(4, 100),
    position(4),
    choosing(2),
  );
  t.deepEqual(search.next(state, measurement(9, 10), position(9), choosing(1)).state.table, {});
});

test('replay corrects what was earned against an old reference', (t) => {
  const search = qLearning(Q_DEFAULT);
  let state = search.initialState();
  // 100 looks best at place 4, until place 5 brings 200: then staying at 4 is worth half of it.
  const play = (place: number, throughput: number, action: number): void => {
    ({ state } = search.next(
      state,
      measurement(place, throughput),
      position(place),
      choosing(action),
    ));
  };
  play(4, 100, 2);
  for (let i = 0; i < 200; i++) play(5, 200, 1);
  // Fixed point: staying at 5 is 1 / (1 - .9) = 10; up from 4 is 1 + .9 x 10 = 10; staying at 4 is
  // .5 + .9 x 10 = 9.5.
  const near = (actual: number, expected: number) =>
    t.true(Math.abs(actual - expected) < 0.01, `${actual}`);
  near(state.table['5.5.5']![1], 10);
  near(state.table['4.5.5']![2], 10);
  near(state.table['4.5.5']![1], 9.5);
  // Down from 5 leads to 4: .5 + .9 x 10, though it was never taken.
  near(state.table['5.5.5']![0], 9.5);
});

test('of equally good actions a random one is taken, and never one that is masked', (t) => {
  const random = new SeededRandom(1);
  const counts = [0, 0, 0];
  for (let i = 0; i < 3000; i++) counts[greedyAction([2, 2, 1], [true, true, true], random)]!++;
  // 1500 each, sd sqrt(3000 / 4) = 27: within six of them.
  t.true(Math.abs(counts[0]! - 1500) < 165 && counts[2] === 0);
  // The best is masked: 0 at the lowest limit.
  for (let i = 0; i < 100; i++) t.not(greedyAction([9, 1, 1], stepMask(grid, grid, 0), random), 0);
  const search = qLearning(Q_PUBLISHED);
  for (let i = 0; i < 300; i++) {
    t.not(search.next(search.initialState(), measurement(0, 1), position(0), random).action, 0);
    t.not(search.next(search.initialState(), measurement(15, 1), position(15), random).action, 2);
  }
});

test('limits are 10, 30, ..., 310; those that the platform refuses are masked', (t) => {
  t.deepEqual(stepMask(grid, grid, 0), [false, true, true]);
  t.deepEqual(stepMask(grid, grid, 15), [true, true, false]);
  // Up to 60: 50 (place 2) is the last one.
  t.deepEqual(stepMask(grid, { least: 1, most: 60 }, 2), [true, true, false]);
  t.is(nearestPlace(grid, grid, 100), 4, '90 and 110 are equally near: the lower one');
  t.is(nearestPlace(grid, { least: 1, most: 60 }, 300), 2);
  t.is(nearestPlace(grid, { least: 1, most: 1 }, 1), null, "OpenWhisk's own range is 1..1");
});

test('states are limit, CPU bin and memory bin, with unique names', (t) => {
  // 16 limits x 10 x 10 bins.
  const key = (place: number, cpu: number, memory: number): string =>
    stateKey(place, { limit: 0, throughput: 0, cpu, memory }, 10);
  // Bins [0, .1), ..., [.9, 1]; above 1 the last.
  t.is(key(3, 0, 0.1), '3.0.1');
  t.is(key(3, 1, 7.5), '3.9.9');
  const keys = new Set<string>();
  for (let place = 0; place < 16; place++)
    for (let cpu = 0; cpu < 10; cpu++)
      for (let memory = 0; memory < 10; memory++)
        keys.add(key(place, (cpu + 0.5) / 10, (memory + 0.5) / 10));
  t.is(keys.size, 1600);
});

test('one seed, one search', (t) => {
  const search = qLearning(Q_DEFAULT);
  const play = (seed: number): QLearningState => {
    const random = new SeededRandom(seed);
    let state = search.initialState();
    let place = 4;
    for (let i = 0; i < 100; i++) {
      const next = search.next(state, measurement(place, 100 - place), position(place), random);
      state = next.state;
      place += next.action - 1;
    }
    return state;
  };
  t.deepEqual(play(7), play(7));
  t.notDeepEqual(play(7), play(8));
});
