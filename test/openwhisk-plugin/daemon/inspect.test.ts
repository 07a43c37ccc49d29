import test from 'ava';
import { HookRig } from './hook-rig.js';

test('functions are listed by name, whichever start and are forgotten', async (t) => {
  const rig = await new HookRig((config) =>
    Object.assign(config.decision, { maxFunctions: 3 }),
  ).start();
  const names = (offset = 0) =>
    rig.hook.inspect({ offset, limit: 2 }).functions.map(({ name }) => name);
  const call = (action: string): void => {
    const container = rig.container();
    container.call(10, 200, { action });
    container.end();
  };
  for (const action of ['/guest/c', '/guest/a', '/guest/d']) call(action);
  t.deepEqual([names(), names(2)], [['/guest/a', '/guest/c'], ['/guest/d']]);
  // The least recently started is forgotten.
  call('/guest/b');
  t.deepEqual([names(), names(2)], [['/guest/a', '/guest/b'], ['/guest/d']]);
  call('/guest/c');
  t.deepEqual([names(), names(2)], [['/guest/b', '/guest/c'], ['/guest/d']]);
  await rig.hook.stop();
});

test('a function with containers is not forgotten while there are others without', async (t) => {
  const rig = await new HookRig((config) =>
    Object.assign(config.decision, { maxFunctions: 3 }),
  ).start();
  const busy = rig.container();
  busy.call(10, 200, { action: '/guest/busy' });
  for (const action of ['/guest/a', '/guest/b', '/guest/c', '/guest/d']) {
    const container = rig.container();
    container.call(10, 200, { action });
    container.end();
    busy.call(10, 200, { action: '/guest/busy' });
  }
  const names = () => rig.hook.inspect({ offset: 0 }).functions.map(({ name }) => name);
  t.deepEqual(names(), ['/guest/busy', '/guest/c', '/guest/d']);
  // Its history too: it is refreshed with the others.
  t.like(rig.hook.figures().functions, { length: 3 });
  const [view] = rig.hook.inspect({ function: '/guest/busy' }).functions;
  t.is(view?.activations, 5);
  t.like(view?.slowdownBound, { bound: 1.25, meanTimeRatio: null, activationsNeeded: 20 });
  busy.end();
  for (const action of ['/guest/e', '/guest/f', '/guest/g'])
    rig.container().call(10, 200, { action });
  t.deepEqual(names(), ['/guest/e', '/guest/f', '/guest/g']);
  await rig.hook.stop();
});

test('totals of the host include functions and versions that are forgotten', async (t) => {
  const rig = await new HookRig((config) =>
    Object.assign(config.decision, { maxFunctions: 1 }),
  ).start();
  let [harvested, accelerated, saved] = [0, 0, 0];
  for (const [action, version] of [
    ['/guest/a', '0.0.1'],
    ['/guest/b', '0.0.1'],
    ['/guest/a', '0.0.2'],
  ] as const) {
    const container = rig.container({ quota: 1000 });
    for (let i = 0; i < 30; i++) {
      container.call(100, 200, { action, version });
      const [newest] = rig.hook.explain(action);
      harvested += newest!.harvested / 1000;
      accelerated += newest!.accelerated / 1000;
      saved += newest!.saved / 1000;
    }
    container.end();
    const { host } = rig.hook.inspect();
    t.true(Math.abs(host.harvestedCpuSeconds! - harvested) < 1e-6);
    t.true(Math.abs(host.acceleratedCpuSeconds! - accelerated) < 1e-6);
    t.true(Math.abs(host.savedSeconds! - saved) < 1e-6);
  }
  t.true(harvested > 0);
  t.is(rig.hook.inspect().functions.length, 1);
  await rig.hook.stop();
});

test('sums of a function go on when its action is updated', async (t) => {
  const rig = await new HookRig((config) =>
    Object.assign(config.decision.memory, { policy: 'faasrm' }),
  ).start();
  const sums = () => {
    const [view] = rig.hook.inspect().functions;
    return [view!.activations, view!.harvestedCpuSeconds, view!.harvestedMebibyteSeconds];
  };
  const container = rig.container({ quota: 1000 });
  for (let i = 0; i < 30; i++) container.call(100, 200);
  const before = sums();
  t.true(
    before.every((sum) => sum > 0),
    before.join(' '),
  );
  // An activation of a new version runs at user limits.
  rig.container({ quota: 1000 }).call(100, 200, { version: '0.0.2' });
  t.deepEqual(sums(), [before[0]! + 1, ...before.slice(1)]);
  await rig.hook.stop();
});

test('the comparison over all functions is made every five seconds at most', async (t) => {
  const rig = await new HookRig((config) =>
    Object.assign(config.decision, { controlShare: 0.5 }),
  ).start();
  const container = rig.container({ quota: 1000 });
  for (let i = 0; i < 40; i++) container.call(50, 200);
  const compared = () => {
    const { comparison, slowerThanControl } = rig.hook.figures().host;
    return { comparison, slowerThanControl };
  };
  const before = compared();
  // Some of 20 activations of 50 ms are in either arm; 1 s passes.
  for (let i = 0; i < 20; i++) container.call(50, 200);
  t.is(compared().comparison, before.comparison);
  t.is(rig.hook.inspect().host.comparison, before.comparison);
  rig.advance(4000);
  const after = compared();
  t.true(after.comparison!.controlSamples > before.comparison!.controlSamples);
  await rig.hook.stop();
});
