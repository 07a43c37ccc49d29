import test from 'ava';
import { type FaasrmPlan, trainFaasrm } from '../../../experiments/training/faasrm.js';

const SMALL = { hosts: 1, cores: 2, memoryMiB: 16_384, userMemoryMiB: 8192 };

const plan: FaasrmPlan = {
  training: {
    on: 'cluster',
    places: [{ workload: 'profiles-12:3', hosts: 1 }],
    part: 'train',
    loads: [0.5],
    hosts: { said: SMALL, otherwise: SMALL },
  },
  episodes: 2,
  seed: 10_001,
  resume: null,
};

test('an episode of faasrm is one update; a resumed training is the same', (t) => {
  const [first, second] = [...trainFaasrm(plan)];
  t.deepEqual([first!.result.updates, second!.result.updates], [1, 2]);
  t.true(
    first!.result.steps > 100 && first!.result.entropy > 0 && Number.isFinite(first!.result.reward),
  );
  t.notDeepEqual(first!.state.actor, second!.state.actor);
  const [again] = [...trainFaasrm({ ...plan, resume: { state: first!.state, episode: 1 } })];
  t.deepEqual(again, second);
});
