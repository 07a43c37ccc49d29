import test from 'ava';
import { SeededRandom } from '../../../config/index.js';
import {
  FunctionQueue,
  RESPONSE_TIMEOUT_MILLIS,
} from '../../../experiments/autoscaling/function-queue.js';
import type { ScaledFunction } from '../../../experiments/autoscaling/index.js';
import { type ArrivalRates, RateSource } from '../../../experiments/autoscaling/rates.js';

const DRAWN = 4096;
const MEMORY = 512 * 2 ** 20;

/** A function whose activations all have the same demand, or work drawn from `work(u)`. */
function functionOf(work: (u: number) => number, { io = 0, peak = 2 ** 20 } = {}): ScaledFunction {
  const cpu = Float64Array.from({ length: DRAWN }, (_, i) => work((i + 0.5) / DRAWN));
  return {
    name: '/guest/f',
    parallelism: 1,
    cpu,
    io: new Float64Array(DRAWN).fill(io),
    peak: new Float64Array(DRAWN).fill(peak),
    meanCpu: cpu.reduce((sum, one) => sum + one, 0) / DRAWN,
    meanIo: io,
    base: 2 ** 20,
    coldStartMs: 500,
    initMs: 100,
    perSecond: 1,
  };
}

const at = (...times: number[]): ArrivalRates => ({
  next: (now) => times.find((time) => time > now) ?? Number.POSITIVE_INFINITY,
});

function queueOf(
  fn: ScaledFunction,
  arrivals: ArrivalRates,
  containers: number,
): [FunctionQueue, number[]] {
  const queue = new FunctionQueue(fn);
  const times: number[] = [];
  queue.sink = (millis) => times.push(millis);
  queue.reset(arrivals, new SeededRandom(1), containers);
  return [queue, times];
}

/**
 * Mean response of `activations` activations with exponential work of mean 100 ms, at a load per
 * container.
 */
function meanResponse(containers: number, load: number, activations: number): number {
  const fn = functionOf((u) => -100 * Math.log(1 - u));
  const queue = new FunctionQueue(fn);
  let sum = 0;
  let count = 0;
  queue.sink = (millis) => {
    sum += millis;
    count++;
  };
  queue.reset(
    new RateSource([(1000 * load * containers) / fn.meanCpu]),
    new SeededRandom(7),
    containers,
  );
  for (let now = 0; count < activations; now += 10_000)
    queue.advance(now, now + 10_000, 1, MEMORY, 0);
  return sum / count;
}

test('M/M/1 at load .7: the mean response is 1 / (mu - lambda)', (t) => {
  // 100 ms / (1 - .7) = 333.3 ms.
  t.true(Math.abs(meanResponse(1, 0.7, 400_000) / (100 / 0.3) - 1) < 0.03);
});

test('M/M/3 at load .8: the mean response is by Erlang C', (t) => {
  // a = 2.4; Erlang C = (a^3/3! x 3/(3-a)) / (1 + a + a^2/2 + a^3/6 x 3/(3-a)) = 11.52 / 17.80 =
  // .6472; wait = C x 100 / (3 - a) = 107.9 ms.
  const c = 11.52 / (1 + 2.4 + 2.88 + 11.52);
  t.true(Math.abs(meanResponse(3, 0.8, 400_000) / (100 + (c * 100) / 0.6) - 1) < 0.03);
});

test('an activation goes on at the new rate: wait first, then work', (t) => {
  // 50 ms of wait, then 100 ms of work: by 100 half of it is done, the rest takes 100 ms at half a
  // core.
  const [queue, times] = queueOf(
    functionOf(() => 100, { io: 50 }),
    at(0.001),
    1,
  );
  queue.advance(0, 100, 1, MEMORY, 0);
  t.is(queue.serving, 1);
  t.true(Math.abs(queue.window.cpu - 50) < 0.01);
  queue.advance(100, 300, 0.5, MEMORY, 0);
  t.is(times.length, 1);
  t.true(Math.abs(times[0]! - 200) < 0.01);
  t.true(Math.abs(queue.window.cpu - 100) < 0.01);
  t.true(Math.abs(queue.window.busy - 200) < 0.01);
});

test('first come, first served; a new container takes activations once started', (t) => {
  const [queue, times] = queueOf(
    functionOf(() => 100),
    at(1, 2, 3),
    1,
  );
  queue.scaleTo(2, 0, 40);
  t.is(queue.window.coldStarts, 1);
  queue.advance(0, 1000, 1, MEMORY, 0);
  // 1 to 101 in the first; 40 to 140 in the new one; 101 to 201 in the first: response 100, 138,
  // 198.
  t.deepEqual(
    times.map((time) => Math.round(time)),
    [100, 138, 198],
  );
});

test('scaling in takes idle containers first, and lets a running activation end', (t) => {
  const [queue, times] = queueOf(
    functionOf(() => 100),
    at(1, 2, 150),
    3,
  );
  queue.advance(0, 50, 1, MEMORY, 0);
  t.is(queue.serving, 2);
  queue.scaleTo(1, 50, 0);
  t.is(queue.containers, 1);
  t.is(queue.serving, 2);
  queue.advance(50, 120, 1, MEMORY, 0);
  t.is(times.length, 2);
  t.is(queue.serving, 0);
  queue.advance(120, 400, 1, MEMORY, 0);
  t.is(times.length, 3);
});

test('above the memory limit an activation is killed half way and its container restarts', (t) => {
  const [queue, times] = queueOf(
    functionOf(() => 100, { peak: 2 * MEMORY }),
    at(1, 2),
    1,
  );
  queue.advance(0, 1000, 1, MEMORY, 300);
  t.is(queue.window.killed, 2);
  t.is(queue.window.ended, 0);
  t.deepEqual(times, [RESPONSE_TIMEOUT_MILLIS, RESPONSE_TIMEOUT_MILLIS]);
  // 1 to 51, back at 351, 351 to 401.
  t.is(queue.window.busy, 100);
});

test('who waits longer than a minute is given up', (t) => {
  const [queue, times] = queueOf(
    functionOf(() => 100_000),
    at(1, 2),
    1,
  );
  queue.advance(0, 60_000, 1, MEMORY, 0);
  t.is(queue.waiting, 1);
  queue.advance(60_000, 70_000, 1, MEMORY, 0);
  t.is(queue.waiting, 0);
  t.is(queue.window.lost, 1);
  t.deepEqual(times, [RESPONSE_TIMEOUT_MILLIS]);
});

test('arrivals follow the rate of each minute', (t) => {
  const rates = new RateSource([1, 0, 3]);
  const random = new SeededRandom(3);
  const counts = [0, 0, 0];
  for (let run = 0; run < 200; run++)
    for (let now = rates.next(0, random); now < 180_000; now = rates.next(now, random))
      counts[Math.floor(now / 60_000)]!++;
  // 200 x 60 and 200 x 180 expected, deviations 110 and 190.
  t.true(Math.abs(counts[0]! - 12_000) < 500);
  t.is(counts[1], 0);
  t.true(Math.abs(counts[2]! - 36_000) < 900);
});
