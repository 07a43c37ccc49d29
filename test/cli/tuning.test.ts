import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { runAgentHost } from '../../agents/host/index.js';
import type { ResourceManager } from '../../agents/index.js';
import { fixedManager } from '../../agents/managers/index.js';
import { tableName } from '../../agents/tuning/concurrency/table.js';
import { hillClimbing, type LimitSearch } from '../../agents/tuning/index.js';
import { objectStores, silentLogger, subjects, wildcards } from '../../broker/index.js';
import { decodeEvent, encodeMessage, LatencyHistogram } from '../../broker/messages/index.js';
import { agentText, type ExplainedAgent, fetchAgent } from '../../cli/commands/explain-agent.js';
import {
  type Config,
  configSchema,
  millis,
  SeededRandom,
  systemTimers,
} from '../../config/index.js';
import { Journal, openChanges } from '../../openwhisk-plugin/openwhisk-api/index.js';
import { statePaths } from '../../runtime/settings.js';
import { connectActions } from '../../runtime/wiring/actions.js';
import { followSizes } from '../../runtime/wiring/right-sizing.js';
import { FakeOpenWhiskRest, KEY } from '../openwhisk-plugin/openwhisk-api/fake-openwhisk-rest.js';
import { until } from '../support/gleaner.js';
import { ManualTime } from '../support/manual-time.js';
import { MemoryBus } from '../support/memory-broker/memory-bus.js';
import { observation } from '../support/observations.js';

const FN = '/guest/thumbs';
const LONG = 30_000;
/**
 * Length of a step, ms: so short that leases of shards, which last for 1.5 s of the same clock, are
 * renewed in time.
 */
const SPAN = 50;

/**
 * A fake OpenWhisk with a range of concurrency, `gleaner actions follow`, and an agent host that
 * tunes 10, 20, ..., 50.
 */
async function stage(t: ExecutionContext, manager: ResourceManager = fixedManager()) {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-tuning-'));
  const rest = await FakeOpenWhiskRest.start('2.0.0');
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
          hold: { time: SPAN, activations: 10 },
          bindingShare: 0.5,
        },
      },
    });
    return agents;
  };
  let agents = startAgents();
  t.teardown(() => agents.stop());
  await until(() => agents.ownedShards > 0, LONG, 'the agent host owns its shards');
  const writer = await connectActions(config);
  const following = followSizes({
    config,
    writer,
    broker: bus.connect(),
    logger: silentLogger,
  });
  t.teardown(() => following.stop());
  const limit = (): number => rest.actions.get('guest/thumbs')!.limits.concurrency;
  let step = 0;
  /**
   * Three steps under a load that fills the limit: throughput rises to limit 30 and falls again.
   * `killed`: the limits from which on containers are.
   */
  const serve = async (killed = Number.POSITIVE_INFINITY): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      const activations = 100 - 2 * Math.abs(limit() - 30);
      const latency = new LatencyHistogram();
      // One container, all of its places busy all the time.
      for (let activation = 0; activation < activations; activation++)
        latency.record((SPAN * limit()) / activations);
      const oomKills = limit() >= killed ? 1 : 0;
      const seen = {
        activations,
        oomKills,
        containers: 1,
        span: millis(SPAN),
        latency: latency.toMessage(),
      };
      time.advance(millis(SPAN));
      const before = agents.counts.observations;
      hook.publish(
        subjects.observation(FN),
        encodeMessage(observation({ function: FN, step: ++step, ...seen })),
      );
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
  return { rest, bus, following, limit, serve, restart, table, config };
}

test('the tuner climbs to the best limit, and every step can be undone', async (t) => {
  const { following, limit, serve, restart, table, config } = await stage(t);
  const limits = [limit()];
  for (let i = 0; i < 16 && !(limits.includes(30) && limits.length > 4); i++) {
    await following.turn();
    await serve();
    if (limits.at(-1) !== limit()) limits.push(limit());
    // The agent host restarts meanwhile and loads its state.
    if (limits.length === 3) {
      t.not(await table(), null);
      await restart();
    }
  }
  // A step at a time, inside of the grid.
  for (let i = 1; i < limits.length; i++)
    t.is(Math.abs(limits[i]! - limits[i - 1]!), 10, limits.join(' '));
  // Hill climbing never rests: once there it goes to and fro about the top.
  t.true(
    limits.slice(3).every((one) => Math.abs(one - 30) <= 20),
    limits.join(' '),
  );
  t.true(limits.includes(30), limits.join(' '));
  const open = openChanges(Journal.read(statePaths(config).actions)).get(FN);
  t.like(open?.limits.get('concurrency'), { original: 20, why: 'concurrency' });
});

test('nothing is tried while the agent of the function learns', async (t) => {
  const { following, limit, serve, table } = await stage(t, {
    ...fixedManager(),
    phase: () => 'online',
  });
  for (let i = 0; i < 5; i++) {
    await following.turn();
    await serve();
  }
  t.is(limit(), 20);
  t.is(await table(), null);
});

test('bounds of the owner are kept', async (t) => {
  const { rest, following, limit, serve } = await stage(t);
  rest.actions.get('guest/thumbs')!.annotations.push({ key: 'gleaner.mode', value: 'recommend' });
  for (let i = 0; i < 4; i++) {
    await following.turn();
    await serve();
  }
  t.is(limit(), 20);
});

test('a limit with OOM kills is left at once, and not tried again after a restart', async (t) => {
  const { bus, following, limit, serve, restart } = await stage(t);
  const viewer = bus.connect();
  const reasons: string[] = [];
  const subscription = viewer.subscribe(wildcards.events, ({ data }) => {
    const event = decodeEvent(data);
    if (event.ok && event.message.kind === 'concurrency') reasons.push(event.message.reason);
  });
  t.teardown(() => subscription.unsubscribe());
  await following.turn();
  for (let i = 0; i < 8 && limit() !== 30; i++) {
    await serve();
    await following.turn();
  }
  t.is(limit(), 30);
  // From here on no turn is needed.
  for (let i = 0; i < 8 && limit() === 30; i++) await serve(30);
  await until(() => limit() === 20, LONG, 'the limit is back');
  t.regex(
    reasons[0] ?? '',
    new RegExp(
      '^limit 30 and above are harmful: at 30 0 of \\d+ activations failed, 1 OOM kills; ' +
        "at the user's own 20 0 of \\d+ .*; back to 20$",
    ),
  );
  await restart();
  let known: ExplainedAgent | undefined;
  const limits = new Set<number>();
  // Until what was kept is read again, and a step was tried.
  for (
    let i = 0;
    i < 12 && !(known?.concurrency?.unsafeLimit && known.concurrency.searchSteps > 0);
    i++
  ) {
    await serve();
    await following.turn();
    limits.add(limit());
    [known] = (await fetchAgent(viewer, FN)).found;
  }
  t.deepEqual(
    [...limits].filter((one) => one > 20),
    [],
  );
  t.is(known?.concurrency?.unsafeLimit?.limit, 30);
  t.regex(agentText(known!), /not tried again: limit 30 and above are harmful/);
  const inForce = { ...known!.concurrency!, limit: 20, targetLimit: 20 };
  const explained = (reason: string): string =>
    agentText({ ...known!, concurrency: { ...inForce, reason } });
  t.regex(explained('searched'), /^concurrency limit 20: chosen by the search; \d+ search steps/m);
  t.regex(explained('of_a_newer_host'), /^concurrency limit 20: of_a_newer_host; /m);
});
