import test from 'ava';
import { runAgentHost } from '../../../agents/host/index.js';
import { createManager } from '../../../agents/managers/index.js';
import { buckets, functionToken, subjects, wildcards } from '../../../broker/index.js';
import { decodeTarget, encodeMessage, type Target } from '../../../broker/messages/index.js';
import {
  type Millicores,
  mebibytes,
  SeededRandom,
  systemClock,
  systemTimers,
} from '../../../config/index.js';
import { until } from '../../support/gleaner.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { observation } from '../../support/observations.js';

const FN = '/guest/hello';

test('a target stays within the bounds that the owner has annotated', async (t) => {
  const bus = new MemoryBus();
  const hook = bus.connect();
  const targets: Target[] = [];
  hook.subscribe(wildcards.targets, ({ data }) => {
    const decoded = decodeTarget(data);
    if (decoded.ok) targets.push(decoded.message);
  });
  const agents = runAgentHost({
    broker: bus.connect(),
    clock: systemClock,
    timers: systemTimers,
    random: new SeededRandom(1),
    manager: createManager('greedy', { cap: { cpu: 4000 as Millicores, memory: mebibytes(1024) } }),
    intervalMs: 1000,
    host: 'agents-1',
  });
  t.teardown(() => agents.stop());
  await until(() => agents.ownedShards > 0, 30_000, 'the agent host owns its shards');
  let step = 0;
  const decided = async (): Promise<Target> => {
    const before = targets.length;
    hook.publish(subjects.observation(FN), encodeMessage(observation({ step: ++step })));
    await until(() => targets.length > before, 30_000, 'a target');
    return targets.at(-1)!;
  };
  // The user limits are one core and 256 MiB; greedy moves in small steps from there.
  t.true((await decided()).cpu! > 500);
  const bounds = { cpuMillicores: { max: 500 }, memoryMiB: { max: 100 } };
  await hook
    .keyValue(buckets.actions)
    .put(functionToken(FN), encodeMessage({ v: 1, function: FN, bounds }));
  await new Promise((resolve) => setImmediate(resolve));
  const bounded = await decided();
  t.is(Number(bounded.cpu), 500);
  t.is(Number(bounded.memory), mebibytes(100));
  await hook.keyValue(buckets.actions).delete(functionToken(FN));
  await new Promise((resolve) => setImmediate(resolve));
  t.true((await decided()).cpu! > 500);
});
