import test from 'ava';
import {
  type TrainingPlan,
  train,
  trainingSettings,
} from '../../../experiments/training/training.js';

const SMALL = { hosts: 1, cores: 2, memoryMiB: 16_384, userMemoryMiB: 8192 };

const plan: TrainingPlan = {
  manager: 'simppo',
  places: [{ workload: 'profiles-12:3', hosts: 1 }],
  part: 'train',
  mode: 'quota',
  loads: [0.7],
  episodes: 2,
  seed: 10_001,
  hosts: { said: SMALL, otherwise: SMALL },
  refines: false,
  resume: null,
};

test('an episode is steps and updates of the base policy; a resumed training is the same', (t) => {
  const [first, second] = [...train(plan)];
  t.true(first!.result.steps > 512);
  t.true(first!.result.updates >= 1 && second!.result.updates > first!.result.updates);
  t.true(first!.result.entropy > 0 && Number.isFinite(first!.result.reward));
  t.notDeepEqual(first!.state.actor, second!.state.actor);
  const [again] = [...train({ ...plan, resume: { state: first!.state, episode: 1 } })];
  t.deepEqual(again, second);
});

test('a policy that begins with another one learns at a tenth of the rate', (t) => {
  const { ppo } = trainingSettings('simppo', 2);
  const first = ppo.learningRate.first / 10;
  t.deepEqual(trainingSettings('simppo', 2, true).ppo, {
    ...ppo,
    learningRate: { first, last: 0 },
  });
});
