import test from 'ava';
import { LatencyHistogram } from '../../../broker/messages/index.js';
import type { ScalingState } from '../../../experiments/autoscaling/agent/state.js';
import { Window } from '../../../experiments/autoscaling/function-queue.js';
import {
  azureShapes,
  type Contention,
  doNothing,
  drawEpisode,
  type EpisodeArrivals,
  judge,
  profileFunctions,
  type ScaledFunction,
  ScalingCluster,
  scalingSettings,
} from '../../../experiments/autoscaling/index.js';
import { kneeOf } from '../../../experiments/autoscaling/knee.js';
import { RateSource } from '../../../experiments/autoscaling/rates.js';
import { ResponseWindow } from '../../../experiments/autoscaling/response-window.js';
import { publishedStart } from '../../../experiments/autoscaling/scaling-cluster.js';
import { scalingStatesOf, totalsOf } from '../../../experiments/autoscaling/scaling-state.js';

const MIB = 2 ** 20;

/** Activations of exactly 100 core-ms and no wait. */
const steady = (name: string): ScaledFunction => ({
  name,
  parallelism: 1,
  cpu: new Float64Array(4096).fill(100),
  io: new Float64Array(4096),
  peak: new Float64Array(4096).fill(64 * MIB),
  meanCpu: 100,
  meanIo: 0,
  base: 32 * MIB,
  coldStartMs: 0,
  initMs: 0,
  perSecond: 1,
});

function twoFunctions(contention: Contention): { cluster: ScalingCluster; first: ScalingState } {
  const cluster = new ScalingCluster({
    functions: [steady('/guest/a'), steady('/guest/b')],
    cores: 4,
    contention,
    slos: [150, 150],
    stepMs: 10_000,
    steps: 100,
  });
  // b is never called, and holds four cores of four.
  const episode: EpisodeArrivals = {
    seed: 1,
    rates: [new RateSource([0.5]), new RateSource([0])],
    means: [0.5, 0],
  };
  const held = { cpu: 1000, memory: 128 * MIB, containers: 4 };
  cluster.reset(episode, () => held);
  for (let step = 0; step < 30; step++) cluster.advance();
  return { cluster, first: scalingStatesOf(cluster)[0]! };
}

test('reserved: limits of 8 cores on 4 give each container half of its limit', (t) => {
  const { cluster, first } = twoFunctions('reserved');
  t.is(cluster.occupancy, 2);
  // A lone activation takes 200 ms; the histogram's buckets are 9 % wide.
  t.true(first.tail > 185 && first.tail < 400);
  t.deepEqual(totalsOf(cluster).allocated, 8000);
});

test('reserved: use is a share of what is granted of a request beyond the capacity', (t) => {
  const { cluster, first } = twoFunctions('reserved');
  const [a, b] = cluster.states;
  // Each asks for four cores of four: both are granted two, for 10 s.
  t.is(a!.granted, 20_000);
  t.is(a!.granted + b!.granted, 4 * 10_000);
  t.is(first.cpuUse, a!.queue.window.cpu / 20_000);
});

test('busy: an idle allocation slows no other function', (t) => {
  const { first } = twoFunctions('busy');
  t.true(first.tail < 150);
});

test('alone: each has all cores for itself', (t) => {
  const { first } = twoFunctions('alone');
  t.true(first.tail < 150);
});

test('busy: eight runnable containers on four cores get half a core each', (t) => {
  const functions = [steady('/guest/a'), steady('/guest/b')];
  const cluster = new ScalingCluster({
    functions,
    cores: 4,
    contention: 'busy',
    slos: [150, 150],
    stepMs: 10_000,
    steps: 10,
  });
  // 100 activations a second each are 20 cores of work: all containers run all the time.
  const episode: EpisodeArrivals = {
    seed: 1,
    rates: [new RateSource([100]), new RateSource([100])],
    means: [100, 100],
  };
  cluster.reset(episode, () => ({ cpu: 1000, memory: 128 * MIB, containers: 4 }));
  for (let step = 0; step < 3; step++) cluster.advance();
  for (const { queue } of cluster.states) t.true(Math.abs(queue.window.cpu / 10_000 - 2) < 0.05);
});

test('an agent sees all of its idle share of the cores', (t) => {
  const { cluster, first } = twoFunctions('reserved');
  const { idle } = totalsOf(cluster);
  // b uses nothing of 4000; a uses the share `cpuUse` of what it is granted of its own 4000.
  t.true(Math.abs(idle - (4000 + 4000 * (1 - first.cpuUse))) < 1e-6);
});

test('each episode offers just the load, and the same seed is the same episode', (t) => {
  const functions = profileFunctions(12);
  const plan = { functions, shapes: azureShapes('train'), load: 0.8, cores: 24, spanMs: 1_000_000 };
  const episode = drawEpisode(plan, 5);
  const work = functions.reduce((sum, fn, i) => sum + (episode.means[i]! * fn.meanCpu) / 1000, 0);
  t.true(Math.abs(work / 24 - 0.8) < 1e-9);
  t.deepEqual(drawEpisode(plan, 5).means, episode.means);
  t.notDeepEqual(drawEpisode(plan, 6).means, episode.means);
});

test('shapes for training and for tests come from different functions, each of mean 1', (t) => {
  const train = azureShapes('train');
  const held = azureShapes('test');
  t.true(train.length >= 40 && held.length >= 10);
  for (const shape of [...train, ...held]) {
    t.is(shape.length, 60);
    t.true(Math.abs(shape.reduce((sum, one) => sum + one, 0) / 60 - 1) < 1e-9);
  }
});

test('a function is the same in a cluster of any size; copies of a profile differ', (t) => {
  const few = profileFunctions(5);
  const many = profileFunctions(30);
  few.forEach(({ name, meanCpu }, i) => {
    t.is(many[i]!.name, name);
    t.is(many[i]!.meanCpu, meanCpu);
  });
  t.not(many[12]!.meanCpu, many[0]!.meanCpu);
});

test('the knee is where a curve is farthest below the line between its ends', (t) => {
  // Depths: 0, .5 - .05 = .45, .8 - .2 = .6, .9 - .45 = .45, 0.
  const points = [
    [0, 100],
    [0.5, 105],
    [0.8, 120],
    [0.9, 145],
    [1, 200],
  ].map(([load, tail]) => ({ load: load!, tail: tail! }));
  t.is(kneeOf(points).load, 0.8);
});

test('the published start: half as many containers again as are busy, and two', (t) => {
  // 100 ms an activation, 20 activations a second keep 2 busy: 1.5 x 2 + 2 = 5.
  t.is(publishedStart(steady('/guest/a'), 20).containers, 5);
});

test('the tail over three steps is the histogram’s; of few samples the largest', (t) => {
  const responses = new ResponseWindow();
  const histogram = new LatencyHistogram();
  const window = new Window();
  const add = (from: number, count: number): void => {
    window.clear();
    const one = new LatencyHistogram();
    for (let i = 0; i < count; i++) {
      const millis = from + 7 * i;
      histogram.record(millis);
      one.record(millis);
      window.responseMax = Math.max(window.responseMax, millis);
    }
    const { first, counts } = one.toMessage();
    window.responses.set(counts, first);
    window.ended = count;
    responses.add(window);
  };
  add(10, 5);
  t.is(responses.tail, 38);
  add(50, 100);
  add(20, 200);
  t.true(Math.abs(responses.tail - histogram.quantile(0.99)) < 1e-9);
  // The first five leave.
  add(1, 1);
  t.is(responses.samples, 301);
});

test('a run is judged function by function, and its means are over functions', (t) => {
  const functions = profileFunctions(3);
  const cluster = new ScalingCluster({
    functions,
    cores: 6,
    contention: 'reserved',
    slos: [400, 4000, 400],
    stepMs: 10_000,
    steps: 20,
  });
  const plan = { functions, shapes: azureShapes('train'), load: 0.5, cores: 6, spanMs: 200_000 };
  const score = judge(cluster, drawEpisode(plan, 1), doNothing, { warmUp: 5 });
  t.is(score.functions.length, 3);
  t.true(
    Math.abs(score.reward - score.functions.reduce((sum, one) => sum + one.reward, 0) / 3) < 1e-12,
  );
  for (const one of score.functions) {
    t.true(one.activations > 0);
    const parts = 0.7 * one.sloPreservation + 0.15 * (one.cpuUse + one.memoryUse);
    t.true(Math.abs(one.reward - parts) < 1e-9);
  }
  t.is(scalingSettings.reward.slo + scalingSettings.reward.utilization, 1);
});
