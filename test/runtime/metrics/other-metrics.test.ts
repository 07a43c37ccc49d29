import test from 'ava';
import { runAgentHost } from '../../../agents/host/index.js';
import { fixedManager } from '../../../agents/managers/index.js';
import { subjects } from '../../../broker/index.js';
import { encodeMessage } from '../../../broker/messages/index.js';
import { type Millis, millis, SeededRandom } from '../../../config/index.js';
import { updateAgents } from '../../../runtime/metrics/index.js';
import { MetricSet } from '../../../runtime/metrics/metric-set.js';
import { ManualTime } from '../../support/manual-time.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { observation } from '../../support/observations.js';
import { seriesOf } from './exposition.js';

const noTraining = { counts: {} } as Parameters<typeof updateAgents>[3];

test('an observation counts as taken once it is decided', async (t) => {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const hook = bus.connect();
  const agents = runAgentHost({
    broker: bus.connect(),
    clock: time,
    timers: time,
    random: new SeededRandom(1),
    manager: fixedManager(),
    intervalMs: 1000,
    host: 'agents-1',
  });
  const set = new MetricSet('agents');
  const counted = async (): Promise<(number | undefined)[]> => {
    updateAgents(set, agents, null, noTraining, noTraining);
    const series = seriesOf(await set.registry.metrics());
    return ['taken', 'superseded', 'elsewhere'].map((result) =>
      series.get(`gleaner_agents_observations_total{result="${result}"}`),
    );
  };
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 100; i++) await Promise.resolve();
  };
  const send = (fn: string, step: number, late: number): void => {
    const observedAt = (time.monotonic() + 5000 - late) as Millis;
    const message = observation({ function: fn, step, observedAt });
    hook.publish(subjects.observation(fn), encodeMessage(message));
  };
  await settle();
  send('/guest/a', 1, 0);
  await settle();
  t.deepEqual(await counted(), [1, 0, 0]);
  // As after a pause of this process: the newest of each function waits for a moment.
  for (let i = 0; i < 300; i++) {
    time.advance(millis(200));
    await settle();
  }
  send('/guest/a', 2, 30_000);
  send('/guest/a', 3, 20_000);
  send('/guest/b', 1, 20_000);
  await settle();
  t.deepEqual(await counted(), [1, 1, 0]);
  time.advance(millis(100));
  t.deepEqual(await counted(), [3, 1, 0]);
  await agents.stop();
});
