import test from 'ava';
import type { Millis } from '../../../config/index.js';
import { ManagedContainer } from '../../../openwhisk-plugin/control/index.js';
import { ContainerState } from '../../../openwhisk-plugin/decision/index.js';
import { host, limits } from '../decision/helpers.js';

class Container extends ManagedContainer<Container> {}

/** Another value in each field, and in those of the objects that belong to it. */
function change(of: object): void {
  const fields = of as Record<string, unknown>;
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'number') fields[name] = value + 7;
    else if (typeof value === 'boolean') fields[name] = !value;
    else if (value === null) fields[name] = { changed: true };
    else if (Array.isArray(value)) value.push({ changed: true });
    else if (typeof value === 'object' && !['user', 'owner', 'state'].includes(name)) change(value);
  }
}

test('a container that is used again is like a new one of its user limits', (t) => {
  const state = new ContainerState(limits(128, 0), host());
  const container = new Container('id', state);
  change(state);
  change(container);
  container.setPaused(true, 5 as Millis);
  container.setPaused(false, 9 as Millis);
  const fresh = new ContainerState(limits(256, 1), host());
  t.notDeepEqual(state, fresh);
  state.reset(limits(256, 1), host());
  container.reset();
  t.deepEqual(state, fresh);
  t.deepEqual(container, new Container('id', fresh));
  t.is(container.pausedUntil(20 as Millis), 0 as Millis);
});
