import test from 'ava';
import { type Millis, SeededRandom } from '../../../config/index.js';
import {
  ContainerState,
  createPolicy,
  defaultDecisionSettings,
} from '../../../openwhisk-plugin/decision/index.js';
import { EngineContainer, FunctionOnHost } from '../../../simulator/engine/managed-container.js';
import { ManagedHost } from '../../../simulator/engine/managed-host.js';
import { DEFAULT_CLUSTER } from '../../../simulator/engine/options.js';
import * as helpers from '../../openwhisk-plugin/decision/helpers.js';

test('a function is active while it runs and for 30 s after its last start', (t) => {
  const policies = { quota: createPolicy('target'), weight: createPolicy('gittins') };
  const ports = { limits: { onMemoryRefused: () => undefined } } as never;
  const host = new ManagedHost(
    defaultDecisionSettings,
    DEFAULT_CLUSTER,
    policies,
    new SeededRandom(1),
    { remainingCpu: () => Number.NaN },
    ports,
  );
  const [short, long] = ['/g/short', '/g/long'].map((name, fn) => {
    const record = new FunctionOnHost(fn, 0, name, host.controller, host.targets);
    host.add(record);
    host.revision(name, '1', helpers.limits(256, 1), 0 as Millis);
    return record;
  }) as [FunctionOnHost, FunctionOnHost];
  const start = (record: FunctionOnHost, now: number) => {
    record.lastSeen = now;
    record.running++;
    host.started(record);
  };
  const active = (now: number) => host.activeFunctions(now).map(({ action }) => action);
  t.deepEqual(active(0), [], 'a known function that never started');
  start(long, 1000);
  start(short, 2000);
  short.running--;
  t.deepEqual(active(32_000), ['/g/long', '/g/short']);
  t.deepEqual(active(32_001), ['/g/long']);
  start(short, 40_000);
  start(short, 41_000);
  t.deepEqual(active(41_000), ['/g/long', '/g/short'], 'once, however often it starts');
  long.running--;
  t.deepEqual(active(41_000), ['/g/short']);
});

test('a container that begins again has nothing of the one before', (t) => {
  const state = new ContainerState(helpers.limits(256, 1), helpers.host());
  const record = {} as FunctionOnHost;
  const used = new EngineContainer(state);
  used.begin(1, 1, record);
  used.isOomKilled = true;
  used.waiting = 5;
  used.begin(2, 9, record);
  const fresh = new EngineContainer(state);
  fresh.begin(2, 9, record);
  t.deepEqual(used, fresh);
  t.false(used.isOomKilled);
});
