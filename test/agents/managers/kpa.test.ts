import test from 'ava';
import { kpaManager } from '../../../agents/managers/index.js';
import { latencies, play, type Step } from './play.js';

/** Ten seconds with a mean concurrency of `c`: 20 activations of c x 500 ms. */
const load = (c: number, containers: number, changes: Step = {}): Step => ({
  ...latencies(20, c * 500),
  containers,
  ...changes,
});
const numbers = (...steps: Step[]): (number | undefined)[] =>
  play(kpaManager(), steps).decisions.map((d) => d.containers);

test('containers = mean concurrency / 70 % of what one may run at once', (t) => {
  // 2.8 / .7 = 4; with 3 ready no panic (4 / 3 < 2). 2.81 / .7 = 4.01: 5.
  t.deepEqual(numbers(load(2.8, 3)), [4]);
  t.deepEqual(numbers(load(2.81, 3)), [5]);
  // A container that runs 10 at once: 28 / 7 = 4.
  t.deepEqual(numbers(load(28, 3, { concurrency: 10 })), [4]);
});

test('the average is over 60 s, or over what is known of them', (t) => {
  // 10 s of 2.8, 10 s of .7: 1.75 / .7 = 2.5: 3.
  t.deepEqual(numbers(load(2.8, 3), load(0.7, 3)), [4, 3]);
});

test('a fall is to half of what is ready at most, and to one at least', (t) => {
  t.deepEqual(numbers(load(0.7, 8)), [4]);
  t.deepEqual(numbers(load(0.07, 1)), [1]);
});

test('at twice the ready containers panic mode starts, in which the number never falls', (t) => {
  // 2.8 over 2 containers: 4 / 2 = 2: panic at 10 s.
  const calm = (now: number) => load(0.7, 4, { now });
  const steps = [
    load(2.8, 2),
    ...[20, 30, 40, 50, 60, 69].map((s) => calm(s * 1000)),
    calm(70_000),
    calm(80_000),
  ];
  // Until 70 s the 4 stand. Then .7 / .7 = 1, but not below floor(4 / 2) = 2.
  t.deepEqual(numbers(...steps), [4, 4, 4, 4, 4, 4, 4, 2, 2]);
  // Just below: ceil(1.4 / .7) = 2 over 1... 2 is a panic; over 2 it is none.
  t.deepEqual(numbers(load(1.4, 2), load(0.7, 2)), [2, 2]);
});

test('a panic goes by the short window: a burst is not averaged away', (t) => {
  const quiet = [1, 2, 3, 4, 5].map((i) => load(0.7, 1, { now: i * 10_000 }));
  // Then 10 s of 7: over 60 s (5 x .7 + 7) / 6 = 1.75 means 3; over 6 s 7 / .7 = 10 >= 2 x 1.
  t.deepEqual(numbers(...quiet, load(7, 1, { now: 60_000 })).at(-1), 10);
});

test('the concurrency of several hosts adds up', (t) => {
  const steps = [
    load(1.4, 2, { host: 'a', now: 10_000 }),
    load(1.4, 2, { host: 'b', now: 10_000 }),
  ];
  // 2.8 / .7 = 4 over 4 ready.
  t.deepEqual(numbers(...steps), [2, 4]);
});

test('never more than 20, and no span says nothing', (t) => {
  t.deepEqual(numbers(load(100, 10)), [20]);
  t.deepEqual(numbers(load(1, 1, { span: 0 as never })), [undefined]);
});
