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
