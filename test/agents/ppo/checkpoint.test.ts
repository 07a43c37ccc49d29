import test from 'ava';
import { CheckpointDamagedError } from '../../../agents/nn/index.js';
import { expectedPpo, ppoCheckpoint, ppoState } from '../../../agents/ppo/checkpoint.js';
import { simulatorSettings as settings } from '../../../agents/ppo/settings.js';

const shape = { features: 3, actions: 2 } as Parameters<typeof expectedPpo>[0];
const moments = { first: new Float32Array(1), second: new Float32Array(1), step: 4 } as never;
const state = {
  actor: Float32Array.of(1),
  critic: Float32Array.of(2),
  actorMoments: moments,
  criticMoments: moments,
  counters: { updates: 5, steps: 640 },
};

test('a checkpoint gives back the state of its learner', (t) => {
  const checkpoint = ppoCheckpoint(state, { shape, settings, seed: 7 });
  t.is(checkpoint.seed, 7);
  t.deepEqual(ppoState('here', checkpoint), state);
  const expected = expectedPpo(shape, settings);
  t.is(checkpoint.kind, expected.kind);
  t.deepEqual(checkpoint.networks.actor?.shape, expected.shapes.actor);
  t.deepEqual(checkpoint.networks.critic?.shape, expected.shapes.critic);
});

test('a checkpoint without a network, moments or a counter is damaged', (t) => {
  const whole = ppoCheckpoint(state, { shape, settings, seed: 7 });
  const { actor, critic } = whole.networks;
  const { moments: _, ...still } = actor!;
  for (const damaged of [
    { networks: { critic: critic! } },
    { networks: { actor: actor! } },
    { networks: { actor: still, critic: critic! } },
    { networks: { actor: actor!, critic: still } },
    { counters: { steps: 1 } },
    { counters: { updates: 1 } },
  ])
    t.throws(() => ppoState('here', { ...whole, ...damaged } as never), {
      instanceOf: CheckpointDamagedError,
    });
});
