import test from 'ava';
import { boundsOf, cpuTarget, granted } from '../../../agents/simppo/actions.js';
import {
  apply,
  executed,
  hookRules,
  maskOf,
  SIMPPO_ACTIONS,
  simppoSettings,
} from '../../../agents/simppo/index.js';
import { configSchema, MIB } from '../../../config/index.js';
import { amounts, granted as inForce, observation } from '../../support/observations.js';
import { cap } from './scene.js';

const settings = simppoSettings.actions;
const all = { ...settings, dimensions: { cpu: true, memory: true, containers: true } };
const mask = (
  ...args: [
    Parameters<typeof maskOf>[0],
    Parameters<typeof maskOf>[1],
    Parameters<typeof maskOf>[2],
    typeof settings,
  ]
) => [...maskOf(...args, new Uint8Array(SIMPPO_ACTIONS.length))];
const held = (cpu: number, memory = 256, containers = 2) => ({
  cpu,
  memory: memory * MIB,
  containers,
});

test("the safeguard's range: over-provisioned up to the user limit, others up to the cap", (t) => {
  const seen = observation();
  // Peak 300 of 1000: max(300 + 50, 300 / .75) = 400.
  t.deepEqual(boundsOf(seen, { cpu: 300, memory: 0 }, cap, simppoSettings).cpu, {
    lower: 400,
    upper: 1000,
  });
  // Peak 950 > .9 x 1000: 950 / .75, up to the cap.
  t.deepEqual(boundsOf(seen, { cpu: 950, memory: 0 }, cap, simppoSettings).cpu, {
    lower: 950 / 0.75,
    upper: 4000,
  });
  t.is(
    boundsOf(seen, { cpu: 0, memory: 0 }, cap, simppoSettings).cpu,
    null,
    'no peak: user limits',
  );
  t.is(
    boundsOf(seen, { cpu: 300, memory: 1 }, cap, simppoSettings).memory,
    null,
    'memory is not managed here',
  );
});

test('the range is that of the configured safeguard, floors included', (t) => {
  const { decision } = configSchema.parse({
    decision: {
      thetaUser: 0.5,
      thetaSpike: 0.65,
      cpuFloorMillicores: 200,
      memoryFloorMiB: 128,
    },
  });
  const configured = { ...simppoSettings, actions: all, hook: hookRules(decision) };
  const rangeOf = (cpu: number, memory: number) =>
    boundsOf(observation(), { cpu, memory: memory * MIB }, cap, configured);
  // 300 <= .5 x 1000: 300 / (.65 - .05) = 500.
  t.deepEqual(rangeOf(300, 0).cpu, { lower: 500, upper: 1000 });
  // 600 > .5 x 1000: 600 / .6 = 1000, up to the cap.
  t.deepEqual(rangeOf(600, 0).cpu, { lower: 1000, upper: 4000 });
  // 30 + 50 is below the floor; so is 60 / .6 = 100 MiB.
  t.deepEqual(rangeOf(30, 60), {
    cpu: { lower: 200, upper: 1000 },
    memory: { lower: 128 * MIB, upper: 256 * MIB },
  });
});

test('at the bottom of its range an agent asks for the least allowed', (t) => {
  const wide = { cpu: { lower: 400, upper: 1000 }, memory: null };
  const target = (cpu: number, bounds = wide) => cpuTarget(held(cpu), bounds, settings);
  t.deepEqual([target(400), target(499), target(500), target(1000)], [1, 1, 500, 1000]);
  // A range narrower than two steps has its bottom in its lower half.
  const narrow = { cpu: { lower: 900, upper: 1000 }, memory: null };
  t.deepEqual([target(940, narrow), target(950, narrow)], [1, 950]);
  t.is(cpuTarget(held(700), { cpu: null, memory: null }, settings), 700);
});

test('masked: what platform, cap and range do not allow', (t) => {
  const seen = observation();
  const bounds = boundsOf(seen, { cpu: 300, memory: 100 * MIB }, cap, {
    ...simppoSettings,
    actions: all,
  });
  const cpuAlone = boundsOf(seen, { cpu: 300, memory: 100 * MIB }, cap, simppoSettings);
  t.deepEqual(
    mask(held(1000), cpuAlone, seen, settings),
    [1, 0, 1, 0, 0, 0, 0],
    'at the user’s limit, CPU alone',
  );
  t.deepEqual(mask(held(400), cpuAlone, seen, settings), [1, 1, 0, 0, 0, 0, 0], 'at the least');
  t.deepEqual(mask(held(700, 256), bounds, seen, all), [1, 1, 1, 0, 1, 1, 1]);
  t.deepEqual(
    mask(held(700, 150, 20), bounds, seen, all),
    [1, 1, 1, 1, 1, 0, 1],
    'twenty containers at most',
  );
  t.deepEqual(mask(held(700, 150, 1), bounds, seen, all).at(-1), 0, 'one is the least');
  t.deepEqual(mask(held(1000), { cpu: null, memory: null }, seen, settings), [1, 0, 0, 0, 0, 0, 0]);
  const weight = observation({ cpuMode: 'weight' });
  const factors = boundsOf(weight, { cpu: 0, memory: 0 }, cap, simppoSettings);
  t.deepEqual(mask({ ...held(2) }, factors, weight, settings).slice(0, 3), [1, 0, 1]);
  t.deepEqual(mask({ ...held(0.5) }, factors, weight, settings).slice(0, 3), [1, 1, 0]);
});

test('a step: .1 core, 32 MiB, a container, or a weight factor, within bounds', (t) => {
  const seen = observation();
  const bounds = {
    cpu: { lower: 400, upper: 1000 },
    memory: { lower: 128 * MIB, upper: 256 * MIB },
  };
  const after = (action: number, from = held(700, 200)) =>
    apply(action, from, bounds, seen, settings);
  t.deepEqual(after(0), held(700, 200));
  t.is(after(1).cpu, 800);
  t.is(after(2).cpu, 600);
  t.is(after(2, held(450)).cpu, 400);
  t.is(after(3).memory, 232 * MIB);
  t.is(after(4, held(700, 140)).memory, 128 * MIB);
  t.is(after(5).containers, 3);
  t.is(after(6).containers, 1);
  const weight = observation({ cpuMode: 'weight' });
  const up = apply(1, held(1), { cpu: { lower: 0.5, upper: 2 }, memory: null }, weight, {
    ...settings,
    weightStep: 2,
  });
  t.is(up.cpu, 2);
});

test('what was clipped was not executed: the next observation says what was granted', (t) => {
  const before = held(700);
  const seen = (cpu: number, changes = {}) =>
    observation({ granted: inForce(cpu, 256), ...changes });
  const target = held(600);
  t.is(granted(target, seen(700)).cpu, 700);
  t.is(executed(2, before, granted(target, seen(700)), seen(700), settings), 0, 'clipped: stay');
  t.is(executed(2, before, granted(target, seen(600)), seen(600), settings), 2);
  t.is(
    executed(2, before, granted(target, seen(650)), seen(650), settings),
    2,
    'half a step is one',
  );
  t.is(
    executed(2, before, granted(target, seen(1000)), seen(1000), settings),
    0,
    'the safeguard had it back',
  );
  t.is(executed(0, before, granted(before, seen(1000)), seen(1000), settings), 0);
  t.is(
    granted(target, seen(1000, { mode: 'recommend' })).cpu,
    600,
    'nothing is enforced: the target is unchanged',
  );
  t.is(
    granted(
      { ...target, cpu: 2 },
      seen(1000, { cpuMode: 'weight', user: { ...amounts(1000, 256), shares: 256 } }),
    ).cpu,
    2,
  );
});
