import test from 'ava';
import { loadedState, savedState } from '../../../agents/simppo/saved-state.js';
import type { SimppoState } from '../../../agents/simppo/state.js';
import type { Millis } from '../../../config/index.js';

const initial: SimppoState = {
  fn: '',
  phase: 'online',
  rate: 0,
  retraining: null,
  hosts: {},
  reward: null,
};
const seen = {
  byWeight: false,
  held: { cpu: 750, memory: 1e8, containers: 2 },
  at: 90_000 as Millis,
  rate: 2.5,
  cpuPeak: 400,
  memoryPeak: 5e7,
  control: { mean: 120, runs: 7 },
  last: [0, -1, 0] as const,
};
const state: SimppoState = {
  ...initial,
  fn: '/guest/f',
  rate: 2,
  reward: 0.5,
  hosts: { 'invoker-1': seen },
};

test("a saved state holds ages, so that another machine's clock can continue", (t) => {
  const saved: unknown = JSON.parse(JSON.stringify(savedState(state, 100_000 as Millis)));
  // Seen 10 s before it rested; the new host's clock reads 3 s.
  const loaded = loadedState('/guest/f', saved, initial, 3000 as Millis);
  t.deepEqual(loaded, {
    ...state,
    hosts: { 'invoker-1': { ...seen, at: -7000 as Millis, last: [0, -1, 0] } },
  });
});

test('what is no state is refused: nothing, another shape, amounts that no host can hold', (t) => {
  const saved = savedState(state, 100_000 as Millis);
  const { age: _, ...ageless } = saved.hosts['invoker-1']!;
  for (const bad of [
    null,
    7,
    {},
    { ...saved, rate: Number.NaN },
    { ...saved, hosts: { 'invoker-1': ageless } },
    {
      ...saved,
      hosts: {
        'invoker-1': { ...saved.hosts['invoker-1']!, held: { cpu: -1, memory: 1, containers: 1 } },
      },
    },
  ])
    t.is(loadedState('/guest/f', bad, initial, 0 as Millis), null);
});
