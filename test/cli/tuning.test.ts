import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import {
  fixedManager,
  hillClimbing,
  type LimitSearch,
  type ResourceManager,
  runAgentHost,
  tableName,
} from '../../agents/index.js';
import {
  encodeMessage,
  LatencyHistogram,
  MemoryBus,
  objectStores,
  silentLogger,
  subjects,
} from '../../broker/index.js';
import { statePaths } from '../../cli/settings.js';
import { connectActions } from '../../cli/wiring/actions.js';
import { followSizes } from '../../cli/wiring/right-sizing.js';
import { type Config, configSchema, ManualTime, millis, SeededRandom, systemTimers } from '../../config/index.js';
import { Journal, openChanges } from '../../openwhisk-plugin/index.js';
import { observation } from '../agents/observations.js';
import { KEY, RestDouble } from '../openwhisk-plugin/controller/rest-double.js';
import { until } from './gleaner.js';

const FN = '/guest/thumbs';
const LONG = 30_000;

/** OpenWhisk's double with a range of concurrency, `gleaner actions follow`, and an agent host that tunes 10, 20, ..., 50. */
async function stage(t: ExecutionContext, manager: ResourceManager = fixedManager()) {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-tuning-'));
  const rest = await RestDouble.start('2.0.0');
  rest.system.concurrency.max = 500;
  rest.add('guest/thumbs', { memory: 512, concurrency: 20 });
  t.teardown(() => {
    rest.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const config = structuredClone(configSchema.parse({})) as Config;
  const keysFile = join(folder, 'keys');
  writeFileSync(keysFile, `${KEY}\n`, { mode: 0o600 });
  Object.assign(config, { mode: 'enforce' });
  Object.assign(config.hook, { stateDir: folder });
  Object.assign(config.openwhisk, { apiHost: rest.url, keysFile, changesPerMinute: 600 });
  Object.assign(config.openwhisk.rightSizing, { everyS: 86_400 });
  const bus = new MemoryBus();
  const hook = bus.connect();
  const time = new ManualTime();
  const startAgents = () => {
    const agents = runAgentHost({
      broker: bus.connect(),
      clock: time,
      timers: systemTimers,
      random: new SeededRandom(1),
      manager,
      intervalMs: 1000,
      host: 'agents-1',
      concurrency: {
        search: hillClimbing as LimitSearch,
        settings: {
          grid: { least: 10, most: 50, step: 10 },
          hold: { time: 1000, activations: 10 },
          bindingShare: 0.5,
        },
      },
    });
    return agents;
  };
  let agents = startAgents();
  t.teardown(() => agents.stop());
  await until(() => agents.ownedShards > 0, LONG, 'the agent host owns its shards');
  const controller = await connectActions(config);
  const following = followSizes({ config, controller, broker: bus.connect(), logger: silentLogger });
  t.teardown(() => following.stop());
  const limit = (): number => rest.actions.get('guest/thumbs')!.limits.concurrency;
  let step = 0;
  /** Two seconds under a load that fills the limit: throughput rises to limit 30 and falls again. */
  const serve = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      const activations = 100 - 2 * Math.abs(limit() - 30);
      const latency = new LatencyHistogram();
      // One container, all of its places busy for the second.
      for (let call = 0; call < activations; call++) latency.record((1000 * limit()) / activations);
      const seen = { activations, containers: 1, span: millis(1000), latency: latency.toMessage() };
      time.advance(millis(1000));
      const before = agents.counts.observations;
      hook.publish(subjects.observation(FN), encodeMessage(observation({ function: FN, step: ++step, ...seen })));
      await until(() => agents.counts.observations > before, LONG, 'the observation was taken');
    }
  };
  const restart = async (): Promise<void> => {
    await agents.stop();
    agents = startAgents();
    await until(() => agents.ownedShards > 0, LONG, 'the agent host owns its shards again');
  };
  const table = async () =>
    await bus
      .connect()
      .objects(objectStores.policies)
      .get(tableName({ function: FN, revision: '0.0.1 at 512 MB' }));
  return { rest, following, limit, serve, restart, table, config };
}

test('the tuner climbs to the limit that brings most, through the controller, and every step can be undone', async (t) => {
  const { following, limit, serve, restart, table, config } = await stage(t);
  const limits = [limit()];
  for (let i = 0; i < 16 && !(limits.includes(30) && limits.length > 4); i++) {
    await following.turn();
    await serve();
    if (limits.at(-1) !== limit()) limits.push(limit());
    // In the middle of it the agent host starts anew and finds what was learnt.
    if (limits.length === 3) {
      t.not(await table(), null);
      await restart();
    }
  }
  // A step at a time, inside of the grid.
  for (let i = 1; i < limits.length; i++) t.is(Math.abs(limits[i]! - limits[i - 1]!), 10, limits.join(' '));
  // Hill climbing never rests: once there it goes to and fro about the top.
  t.true(
    limits.slice(3).every((one) => Math.abs(one - 30) <= 20),
    limits.join(' '),
  );
  t.true(limits.includes(30), limits.join(' '));
  const open = openChanges(Journal.read(statePaths(config).actions)).get(FN);
  t.like(open?.limits.get('concurrency'), { original: 20, why: 'concurrency' });
});

test('while the function’s agent learns nothing is tried', async (t) => {
  const { following, limit, serve, table } = await stage(t, { ...fixedManager(), phase: () => 'online' });
  for (let i = 0; i < 5; i++) {
    await following.turn();
    await serve();
  }
  t.is(limit(), 20);
  t.is(await table(), null);
});

test('an owner who holds back is not overruled', async (t) => {
  const { rest, following, limit, serve } = await stage(t);
  rest.actions.get('guest/thumbs')!.annotations.push({ key: 'gleaner.mode', value: 'recommend' });
  for (let i = 0; i < 4; i++) {
    await following.turn();
    await serve();
  }
  t.is(limit(), 20);
});
