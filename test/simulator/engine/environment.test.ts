import test from 'ava';
import type { Decision } from '../../../agents/index.js';
import type { Millicores } from '../../../config/index.js';
import { ClusterEnvironment } from '../../../simulator/engine/environment.js';
import { at, fn, optionsOf, type Scene, streamOf } from './scene.js';

const everySecond = Array.from({ length: 25 }, (_, i) => 1000 * i);

function environment(): ClusterEnvironment {
  const scene: Scene = {
    functions: [fn('f', at(...everySecond), { userCpuMillicores: 2000, profile: { cpuMs: 500 } })],
    mode: 'quota',
    cluster: { cores: 2 },
    decision: { controlShare: 0 },
    control: { stepActivations: 1 },
  };
  return new ClusterEnvironment({ ...optionsOf(scene), calls: () => streamOf(scene) });
}

const wish = (cpu: number): ReadonlyMap<string, Decision> =>
  new Map([['/guest/f', { cpu: cpu as Millicores, actions: [0, 1, 0] }]]);

test('an episode: one step is one mean-field interval, and what was decided is granted in it', (t) => {
  const world = environment();
  t.deepEqual(world.functions, ['/guest/f']);
  const first = world.reset(1);
  // Calls end at .5, 1.5, ... 9.5 s.
  t.is(first.length, 10);
  t.true(first.every(({ granted }) => granted.cpu.mean === 2000));
  const { observations, done } = world.step(wish(1500));
  t.is(observations.length, 10);
  t.false(done);
  // The call that begins at 10 s comes before the target, 20 ms after the decision.
  t.deepEqual(
    observations.map(({ granted }) => granted.cpu.mean as number),
    [2000, ...Array.from({ length: 9 }, () => 1500)],
  );
  const last = world.step(new Map());
  t.deepEqual(
    last.observations.map(({ granted }) => granted.cpu.mean as number),
    [1500, 1500, 1500, 1500, 1500],
  );
  t.true(last.done);
});

test('the same seed gives the same episode, whatever was played before', (t) => {
  const world = environment();
  const play = () => [world.reset(7), world.step(wish(1400)), world.step(wish(1900))];
  const once = play();
  t.deepEqual(play(), once);
});

test('what is not there is refused', (t) => {
  const world = environment();
  t.throws(() => world.step(new Map()), { message: /reset/ });
  world.reset(1);
  t.throws(() => world.step(new Map([['/guest/g', { actions: [0, 0, 0] }]])), {
    instanceOf: RangeError,
  });
});
