import test from 'ava';
import { runAgentHost } from '../../agents/host/index.js';
import { createManager } from '../../agents/managers/index.js';
import { subjects } from '../../broker/index.js';
import { encodeMessage } from '../../broker/messages/index.js';
import {
  type Millicores,
  mebibytes,
  SeededRandom,
  systemClock,
  systemTimers,
} from '../../config/index.js';
import { fetchAgents, limitRequestsOf } from '../../runtime/limit-requests.js';
import { rig } from '../openwhisk-plugin/openwhisk-api/rig.js';
import { until } from '../support/gleaner.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';
import { observation } from '../support/observations.js';

const FN = '/guest/thumbs';
const limit = (mib: number) => ({ cpu: 1000 as Millicores, memory: mebibytes(mib), shares: 256 });

test('right-size recommends, its size is written, an OOM kill undoes it', async (t) => {
  const { fakeOpenWhisk, apply, undo } = await rig(t, '2.0.0', { holdMs: 600_000 });
  fakeOpenWhisk.add('guest/thumbs', { memory: 512 });
  const bus = new MemoryBus();
  const hook = bus.connect();
  const agents = runAgentHost({
    broker: bus.connect(),
    clock: systemClock,
    timers: systemTimers,
    random: new SeededRandom(1),
    manager: createManager('right-size', {
      cap: { cpu: 4000 as Millicores, memory: mebibytes(1024) },
    }),
    intervalMs: 1000,
    host: 'agents-1',
  });
  t.teardown(() => agents.stop());
  await until(() => agents.ownedShards === 64, 5000, 'the agent host owns its shards');
  const cli = bus.connect();
  const decide = async (step: number, mib: number, oomKills: number): Promise<void> => {
    const peak = { cpu: 500 as Millicores, memory: mebibytes(128) };
    const seen = observation({ function: FN, step, oomKills, peak, user: limit(mib) });
    hook.publish(subjects.observation(FN), encodeMessage(seen));
    await until(
      async () => (await fetchAgents(cli)).some(({ steps }) => steps === step),
      10_000,
      `step ${step}`,
    );
  };
  const requests = async () => limitRequestsOf(await fetchAgents(cli), ['memory']);

  // 100 activations must have been seen before a size falls: 5 steps of 20.
  for (let step = 1; step <= 4; step++) await decide(step, 512, 0);
  t.like(await apply(...(await requests())), [{ result: 'unchanged' }]);
  await decide(5, 512, 0);
  // 128 MiB and a margin of 32, in steps of 64 from 128 on.
  t.deepEqual(await requests(), [{ function: FN, memory: mebibytes(192) }]);
  t.like(await apply(...(await requests())), [
    { result: 'changed', from: { memory: 512 }, to: { memory: 192 } },
  ]);
  // Nothing is sent without a new request.
  await decide(6, 192, 0);
  t.like(await apply(...(await requests())), [{ result: 'unchanged' }]);

  await decide(7, 192, 1);
  t.like(await apply(...(await requests())), [
    { result: 'changed', from: { memory: 192 }, to: { memory: 512 } },
  ]);
  t.is(fakeOpenWhisk.puts().length, 2);
  t.like(await undo(), [{ result: 'unchanged' }]);
  t.is(fakeOpenWhisk.actions.get('guest/thumbs')!.limits.memory, 512);
});
