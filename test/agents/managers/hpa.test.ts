import test from 'ava';
import {
  desiredContainers,
  HPA_INITIAL,
  HPA_PUBLISHED,
  hpaManager,
  hpaStep,
} from '../../../agents/managers/hpa.js';
import type { Millis } from '../../../config/index.js';
import { latencies, play, type Step } from './play.js';

/** busy / (current x 1000 millicores) = use. */
const step = (current: number, use: number, at: number, state = HPA_INITIAL) =>
  hpaStep(state, use * current * 1000, current, 1000, HPA_PUBLISHED, at as Millis);

test('desired = ceil(current x use / target), and nothing within the tolerance of a tenth', (t) => {
  // Target .6. Ratio 1.1: none; 1.11: ceil(11.1); .9: none; .883: ceil(8.83).
  t.is(desiredContainers(10, 0.66, HPA_PUBLISHED), 10);
  t.is(desiredContainers(10, 0.666, HPA_PUBLISHED), 12);
  t.is(desiredContainers(10, 0.54, HPA_PUBLISHED), 10);
  t.is(desiredContainers(10, 0.53, HPA_PUBLISHED), 9);
  t.is(desiredContainers(3, 1.2, HPA_PUBLISHED), 6);
});

test('a rise is at most four containers or as many again in one sync', (t) => {
  t.is(step(2, 6, 0).containers, 6);
  t.is(step(8, 6, 0).containers, 16);
  t.is(step(15, 6, 0).containers, 20, 'and at most 20 in all');
});

test('a fall takes the highest recommendation of 300 s', (t) => {
  let state = step(10, 0.6, 0);
  t.is(state.containers, 10);
  // Half the use: 5 desired, but 10 was recommended within the window.
  state = step(10, 0.3, 15_000, state);
  t.is(state.containers, 10);
  state = step(10, 0.3, 300_000, state);
  t.is(state.containers, 10, 'the window is closed at 300 s');
  state = step(10, 0.3, 300_001, state);
  t.is(state.containers, 5);
});

test('use counts idle containers, over all hosts', (t) => {
  // 20 activations of 900 ms in 10 s, 1000 millicores each: 1.8 cores busy on each host's 2
  // containers, use .9 of 4 on both.
  const busy: Step = { ...latencies(20, 900), used: { cpu: 1000, memory: 1 } as never };
  const steps = [
    { ...busy, host: 'a' },
    { ...busy, host: 'b', now: 30_000 },
  ];
  // Host a alone: ceil(2 x .9 / .6) = 3. Both, next sync: ceil(4 x 1.5) = 6.
  const { decisions } = play(hpaManager(HPA_PUBLISHED), steps);
  t.deepEqual(
    decisions.map((d) => [d.containers, d.actions[0], d.cpu, d.memory]),
    [
      [3, 1, undefined, undefined],
      [6, 1, undefined, undefined],
    ],
  );
});

test('between two syncs the target stays, and without containers there is none', (t) => {
  const busy: Step = { ...latencies(20, 900), used: { cpu: 1000, memory: 1 } as never };
  const { decisions } = play(hpaManager(HPA_PUBLISHED), [{ containers: 0 }, busy, { now: 30_000 }]);
  t.deepEqual(
    decisions.map((d) => d.containers),
    [undefined, 3, 3],
  );
});

test('a host that is silent for a minute is forgotten', (t) => {
  const idle: Step = { ...latencies(1, 1), used: { cpu: 0, memory: 1 } as never };
  const { state } = play(hpaManager(HPA_PUBLISHED), [
    { ...idle, host: 'a', now: 0 },
    { ...idle, host: 'b', now: 60_000 },
    { ...idle, host: 'b', now: 60_001 },
  ]);
  t.deepEqual(
    state.hostSnapshots.map((s) => s.host),
    ['b'],
  );
});
