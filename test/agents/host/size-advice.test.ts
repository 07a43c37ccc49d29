import test, { type ExecutionContext } from 'ava';
import { runAgentHost } from '../../../agents/host/index.js';
import { SHARDS } from '../../../agents/host/sharing/index.js';
import { createManager } from '../../../agents/managers/index.js';
import { buckets, functionToken, subjects } from '../../../broker/index.js';
import { encodeMessage } from '../../../broker/messages/index.js';
import { agentsService, callService } from '../../../broker/services/index.js';
import {
  type Millicores,
  mebibytes,
  SeededRandom,
  systemClock,
  systemTimers,
} from '../../../config/index.js';
import { until } from '../../support/gleaner.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { amounts, observation } from '../../support/observations.js';

const FN = '/guest/hello';

async function agentHost(t: ExecutionContext, bus: MemoryBus): Promise<void> {
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
  await until(() => agents.ownedShards === SHARDS, 30_000, 'the agent host owns its shards');
}

test('advice on the memory of a smaller action knows what its user asked for', async (t) => {
  const bus = new MemoryBus();
  const hook = bus.connect();
  await hook
    .keyValue(buckets.actions)
    .put(
      functionToken(FN),
      encodeMessage({ v: 1, function: FN, resized: { fromMiB: 512, toMiB: 192 } }),
    );
  await agentHost(t, bus);
  await new Promise((resolve) => setImmediate(resolve));
  const user = { cpu: 1000 as Millicores, memory: mebibytes(192), shares: 256 };
  const step = observation({ step: 1, user, peak: amounts(500, 180) });
  hook.publish(subjects.observation(FN), encodeMessage(step));
  const advice = async () => {
    const call = { service: 'gleaner-agents', endpoint: 'advice', host: 'agents-1', request: {} };
    return agentsService.advice.answer.parse(await callService(hook, call)).functions[0];
  };
  let size: number | undefined;
  await until(
    async () => {
      size = (await advice())?.size;
      return size !== undefined;
    },
    30_000,
    'advice',
  );
  // 180 + 45 = 225: 256; of a user with 192 it would be 192.
  t.is(size, mebibytes(256));
});
