import test from 'ava';
import { type Config, configSchema } from '../../../config/index.js';
import { keysOf } from '../../../config/keys.js';
import { HookRig } from './hook-rig.js';

/** The same values; `read` gets the path of each one that is read. */
function watched<T extends object>(of: T, read: Set<string>, path: readonly string[] = []): T {
  return new Proxy(of, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof name !== 'string') return value;
      const here = [...path, name];
      read.add(here.join('.'));
      const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
      return isGroup ? watched(value, read, here) : value;
    },
  });
}

test('the hook takes each key at a reload that may change while it runs', async (t) => {
  const rig = await new HookRig().start();
  rig.container().call(100, 100);
  const read = new Set<string>();
  rig.hook.reload(watched(structuredClone(rig.config) as Config, read));
  const ofHook = ['mode', 'functions', 'hook', 'decision'];
  const live = [...keysOf(configSchema)].filter(
    ({ path, reload }) => reload && ofHook.includes(path[0]!),
  );
  t.true(live.length > 20);
  t.deepEqual(
    live.map(({ path }) => path.join('.')).filter((path) => !read.has(path)),
    [],
  );
  await rig.hook.stop();
});
