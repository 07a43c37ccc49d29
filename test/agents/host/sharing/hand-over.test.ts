import test, { type ExecutionContext } from 'ava';
import { LRUCache } from 'lru-cache';
import { Agent } from '../../../../agents/host/agent.js';
import type { AgentHostRun, RunningAgentHost } from '../../../../agents/host/agent-host.js';
import { runAgentHost } from '../../../../agents/host/index.js';
import { shardObject } from '../../../../agents/host/sharing/hand-over.js';
import { HandOver, SHARDS } from '../../../../agents/host/sharing/index.js';
import { assignShards, shardOf } from '../../../../agents/host/sharing/plan.js';
import { NewerObjects, type ResourceManager } from '../../../../agents/index.js';
import { StoreError, StoreUnavailableError } from '../../../../broker/errors.js';
import {
  type Broker,
  buckets,
  objectStores,
  silentLogger,
  subjects,
  wildcards,
} from '../../../../broker/index.js';
import { encodeMessage } from '../../../../broker/messages/index.js';
import { agentsService, callService } from '../../../../broker/services/index.js';
import { type Millicores, millis, SeededRandom } from '../../../../config/index.js';
import { FlakyBroker, Machine } from '../../../faults/world/machine.js';
import { ManualTime } from '../../../support/manual-time.js';
import { MemoryBus } from '../../../support/memory-broker/memory-bus.js';
import { observation } from '../../../support/observations.js';
import { settle } from '../../../support/settle.js';

/**
 * Its target is the number of observations of the function on all hosts: learned state that must
 * not be lost.
 */
const counting: ResourceManager<number> = {
  name: 'counting',
  initialState: () => 0,
  phase: () => 'managing',
  decide: (seen) => ({
    state: seen + 1,
    decision: { cpu: (1000 + seen) as Millicores, actions: [0, 0, 0] },
  }),
  saveState: (seen) => ({ seen }),
  loadState: (_, saved) => {
    const { seen } = saved as { seen?: unknown };
    return typeof seen === 'number' ? seen : null;
  },
};

const FN = '/guest/hello';

const pauseOrResume = (hook: Broker, host: string, endpoint: 'pause' | 'resume') =>
  callService(hook, { service: 'gleaner-agents', endpoint, host, request: { function: FN } });

function stage() {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const hook = bus.connect();
  let step = 0;
  const warnings: string[] = [];
  const errors: string[] = [];
  const logger = {
    debug: () => {},
    info: () => {},
    warn: (fields: object, text: string) => void warnings.push(`${text} ${JSON.stringify(fields)}`),
    error: (_: object, text: string) => void errors.push(text),
  };
  const start = (host: string, changes: Partial<AgentHostRun> = {}) =>
    runAgentHost({
      broker: bus.connect(),
      clock: time,
      timers: time,
      random: new SeededRandom(1),
      manager: counting as ResourceManager,
      intervalMs: 1000,
      host,
      logger: logger as never,
      ...changes,
    });
  const pass = async (by: number): Promise<void> => {
    for (let i = 0; i < by; i += 50) {
      time.advance(millis(50));
      await settle();
    }
  };
  /** Stops an agent host, which saves its shards: for up to 2.5 s without a connection. */
  const stop = async (run: { stop(): Promise<void> }, by = 200): Promise<void> => {
    const stopped = run.stop();
    await pass(by);
    await stopped;
  };
  const observe = async (fn = FN): Promise<void> => {
    hook.publish(
      subjects.observation(fn),
      encodeMessage(observation({ function: fn, step: ++step })),
    );
    await settle();
  };
  /**
   * The number of observations that the function's agent has counted.
   */
  const seen = async (host: string, fn = FN): Promise<number> => {
    const answer = await callService(hook, {
      service: 'gleaner-agents',
      endpoint: 'inspect',
      host,
      request: { function: fn },
    });
    return (agentsService.inspect.answer.parse(answer).decision?.cpu ?? 0) - 999;
  };
  return { time, bus, hook, start, pass, stop, observe, seen, warnings, errors };
}

const listed = async (hook: Broker, host: string) =>
  agentsService.list.answer.parse(
    await callService(hook, { service: 'gleaner-agents', endpoint: 'list', host }),
  );
const handOver = async (hook: Broker, host: string) => (await listed(hook, host)).handOver;

test('an agent keeps its state when its host stops and another takes over', async (t) => {
  const { hook, start, pass, stop, observe, seen } = stage();
  const one = start('agents-1');
  await pass(200);
  for (let i = 0; i < 3; i++) await observe();
  t.is(await seen('agents-1'), 3);
  await stop(one);
  const two = start('agents-2');
  await pass(3000);
  await observe();
  t.is(await seen('agents-2'), 4);
  t.like(await handOver(hook, 'agents-2'), { loaded: 1, unusable: 0, failures: 0 });
  await two.stop();
});

for (const manager of [
  counting,
  // It has nothing else to save.
  { ...counting, saveState: undefined, loadState: undefined },
])
  test(`a paused function stays paused on another host, ${
    manager.saveState === undefined ? 'without' : 'with'
  } a saved state`, async (t) => {
    const { hook, start, pass, stop, observe } = stage();
    const targets: unknown[] = [];
    hook.subscribe(wildcards.targets, (message) => void targets.push(message));
    const one = start('agents-1', { manager: manager as ResourceManager });
    await pass(200);
    await observe();
    t.is(targets.length, 1);
    await pauseOrResume(hook, 'agents-1', 'pause');
    await observe();
    await stop(one);
    const two = start('agents-2', { manager: manager as ResourceManager });
    await pass(3000);
    await observe();
    t.is(targets.length, 1);
    t.like(await handOver(hook, 'agents-2'), { loaded: 1, unusable: 0, failures: 0 });
    await pauseOrResume(hook, 'agents-2', 'resume');
    await observe();
    t.is(targets.length, 2);
    await two.stop();
  });

test('a function whose agent is suspended can be paused and resumed', async (t) => {
  const { hook, start, pass, observe } = stage();
  const targets: unknown[] = [];
  hook.subscribe(wildcards.targets, (message) => void targets.push(message.subject));
  const one = start('agents-1', { resident: 1 });
  await pass(200);
  await observe();
  for (const [endpoint, sent] of [
    ['pause', 0],
    ['resume', 1],
  ] as const) {
    await observe('/guest/other');
    await pauseOrResume(hook, 'agents-1', endpoint);
    targets.length = 0;
    await observe();
    t.is(targets.length, sent, endpoint);
  }
  await one.stop();
});

test('a pause and its end outlive a host that dies, without an activation since', async (t) => {
  for (const last of ['pause', 'resume'] as const) {
    const { bus, hook, start, pass, stop, observe } = stage();
    const targets: unknown[] = [];
    hook.subscribe(wildcards.targets, (message) => void targets.push(message));
    const broker = bus.connect();
    const one = start('agents-1', { broker });
    await pass(200);
    await observe();
    if (last === 'resume') await pauseOrResume(hook, 'agents-1', 'pause');
    await pass(1000);
    await pauseOrResume(hook, 'agents-1', last);
    await pass(1000);
    await broker.close();
    const two = start('agents-2');
    await pass(4000);
    targets.length = 0;
    await observe();
    t.is(targets.length, last === 'pause' ? 0 : 1, last);
    await stop(two, 5000);
    await stop(one, 5000);
  }
});

test('a paused function whose state is too large to save stays paused', async (t) => {
  const { hook, start, pass, stop, observe } = stage();
  const targets: unknown[] = [];
  hook.subscribe(wildcards.targets, (message) => void targets.push(message));
  // A shard's agents may take 4 MiB.
  const large = { ...counting, saveState: (seen: number) => ({ seen, rest: ' '.repeat(2 ** 22) }) };
  const one = start('agents-1', { manager: large as ResourceManager });
  await pass(200);
  await observe();
  await pauseOrResume(hook, 'agents-1', 'pause');
  await stop(one);
  const two = start('agents-2');
  await pass(3000);
  targets.length = 0;
  await observe();
  t.is(targets.length, 0);
  await two.stop();
});

/** A function that moves to the second host when that joins. */
const MOVING = Array.from({ length: 100 }, (_, i) => `/guest/f${i}`).find(
  (fn) => assignShards(['agents-1', 'agents-2'])[shardOf(fn)] === 'agents-2',
)!;

test('an agent moves with its shard to a host that joins', async (t) => {
  const { start, pass, observe, seen } = stage();
  const one = start('agents-1');
  await pass(200);
  for (let i = 0; i < 3; i++) await observe(MOVING);
  const two = start('agents-2');
  await pass(8000);
  await observe(MOVING);
  t.is(await seen('agents-2', MOVING), 4);
  await one.stop();
  await two.stop();
});

test('when a host dies its agents resume from their last saved state', async (t) => {
  const { bus, start, pass, stop, observe, seen } = stage();
  const broker = bus.connect();
  const one = start('agents-1', { broker });
  await pass(200);
  for (let i = 0; i < 3; i++) await observe();
  // State is saved at the next turn, every half second; the fourth observation is lost.
  await pass(1000);
  await observe();
  await broker.close();
  const two = start('agents-2');
  await pass(4000);
  await observe();
  t.is(await seen('agents-2'), 4);
  await stop(two, 5000);
  await stop(one, 5000);
});

test('an agent returns to its former host from a host that died and saved nothing', async (t) => {
  const { bus, start, pass, stop, observe, seen } = stage();
  const one = start('agents-1');
  await pass(200);
  for (let i = 0; i < 3; i++) await observe(MOVING);
  const broker = bus.connect();
  const two = start('agents-2', { broker });
  await pass(8000);
  t.true(two.ownedShards > 0);
  await broker.close();
  await pass(8000);
  t.is(one.ownedShards, SHARDS);
  await observe(MOVING);
  // It waits for a newer one first.
  await pass(1000);
  t.is(await seen('agents-1', MOVING), 4);
  await stop(one, 5000);
  await stop(two, 5000);
});

const refuseWrites = (store: string, operation: string) =>
  store === objectStores.policies && operation === 'write'
    ? new StoreUnavailableError(store, 'no leader')
    : null;

/** A stop under way, and whether it has ended. */
function stopping(run: { stop(): Promise<void> }) {
  const stop = {
    isDone: false,
    done: run.stop().then(() => {
      stop.isDone = true;
    }),
  };
  return stop;
}

/** Another host takes its shards from `one`, and loses its connection; then MOVING is observed. */
async function joinAndLeave(
  t: ExecutionContext,
  { bus, start, pass, observe }: ReturnType<typeof stage>,
  one: RunningAgentHost,
): Promise<RunningAgentHost> {
  const broker = bus.connect();
  const other = start('agents-2', { broker });
  // Each release waits for the store.
  await pass(60_000);
  t.true(other.ownedShards > 0);
  await broker.close();
  await pass(8000);
  t.is(one.ownedShards, SHARDS);
  await observe(MOVING);
  // It waits for a newer one first.
  await pass(1000);
  return other;
}

test('the save at a stop is tried again while the store fails', async (t) => {
  const { bus, start, pass, observe, seen, errors } = stage();
  const one = start('agents-1');
  await pass(200);
  for (let i = 0; i < 3; i++) await observe();
  bus.refusal = refuseWrites;
  const stop = stopping(one);
  await pass(2000);
  t.false(stop.isDone);
  bus.refusal = () => null;
  await pass(1000);
  await stop.done;
  t.deepEqual(errors, []);
  const two = start('agents-2');
  await pass(3000);
  await observe();
  t.is(await seen('agents-2'), 4);
  await two.stop();
});

test('a stop ends although the store fails, and the loss is logged once', async (t) => {
  const { bus, start, pass, observe, errors } = stage();
  const one = start('agents-1');
  await pass(200);
  for (const fn of [FN, '/guest/other']) await observe(fn);
  bus.refusal = refuseWrites;
  const stop = stopping(one);
  // A supervisor ends a part after 3 s.
  await pass(2800);
  t.true(stop.isDone);
  t.is(errors.length, 1);
  t.regex(errors[0]!, /^cannot save agents: .*since their last save is lost/);
});

test('an agent that could not be saved before it moved continues when it returns', async (t) => {
  const staged = stage();
  const { bus, start, pass, observe, seen } = staged;
  const one = start('agents-1');
  await pass(200);
  for (let i = 0; i < 3; i++) await observe(MOVING);
  bus.refusal = refuseWrites;
  const two = await joinAndLeave(t, staged, one);
  t.is(await seen('agents-1', MOVING), 4);
  bus.refusal = () => null;
  const stopped = Promise.all([one.stop(), two.stop()]);
  await pass(5000);
  await stopped;
});

test('a stop while shards move and the store fails takes no longer than another', async (t) => {
  const { bus, start, pass, observe } = stage();
  const one = start('agents-1');
  await pass(200);
  for (let i = 0; i < 64; i++) await observe(`/guest/f${i}`);
  bus.refusal = refuseWrites;
  const two = start('agents-2');
  for (let i = 0; i < 100 && one.ownedShards === SHARDS; i++) await pass(50);
  t.true(one.ownedShards < SHARDS, 'shards are being released');
  const stop = stopping(one);
  await pass(2800);
  t.true(stop.isDone);
  bus.refusal = () => null;
  const both = Promise.all([stop.done, two.stop()]);
  await pass(5000);
  await both;
});

test('a shard that returns and moves again while nothing can be read is kept', async (t) => {
  const staged = stage();
  const { bus, start, pass, observe, seen } = staged;
  const one = start('agents-1');
  await pass(200);
  for (let i = 0; i < 3; i++) await observe(MOVING);
  bus.refusal = (store) =>
    store === objectStores.policies ? new StoreUnavailableError(store, 'no leader') : null;
  for (let i = 0; i < 2; i++) await joinAndLeave(t, staged, one);
  // 3, and one after each return.
  t.is(await seen('agents-1', MOVING), 5);
  bus.refusal = () => null;
  const stopped = one.stop();
  await pass(3000);
  await stopped;
});

/** The bucket of leases refuses everything for longer than a membership lasts. */
async function whileLapsed(
  { bus, pass }: ReturnType<typeof stage>,
  act: () => Promise<void>,
): Promise<void> {
  bus.refusal = (store) =>
    store === buckets.leases ? new StoreUnavailableError('leases', 'down') : null;
  // Two thirds of 1500 ms.
  await pass(1100);
  await act();
  bus.refusal = () => null;
  await pass(2000);
}

test('an agent and its pause outlast a lapse of the lease', async (t) => {
  const staged = stage();
  const { hook, start, pass, observe, seen } = staged;
  const targets: unknown[] = [];
  hook.subscribe(wildcards.targets, (message) => void targets.push(message));
  // Its state is in the agent only.
  const manager = { ...counting, saveState: undefined, loadState: undefined } as ResourceManager;
  const one = start('agents-1', { manager });
  await pass(200);
  for (let i = 0; i < 3; i++) await observe();
  await pauseOrResume(hook, 'agents-1', 'pause');
  await whileLapsed(staged, async () => {
    await observe();
    await pass(200);
    t.is(one.counts.elsewhere, 1);
  });
  await observe();
  await pass(200);
  t.is(await seen('agents-1'), 4);
  t.is(targets.length, 3);
  await pauseOrResume(hook, 'agents-1', 'resume');
  await observe();
  await pass(200);
  t.is(targets.length, 4);
  await one.stop();
});

test('a pause during a lapse of the lease is saved after it', async (t) => {
  const staged = stage();
  const { bus, hook, start, pass, stop, observe } = staged;
  const targets: unknown[] = [];
  hook.subscribe(wildcards.targets, (message) => void targets.push(message));
  const broker = bus.connect();
  const one = start('agents-1', { broker });
  await pass(200);
  await observe();
  await pass(1000);
  await whileLapsed(staged, async () => {
    await pauseOrResume(hook, 'agents-1', 'pause');
    await pass(1000);
  });
  await broker.close();
  const two = start('agents-2');
  await pass(4000);
  await observe();
  await pass(200);
  t.is(targets.length, 1);
  await stop(two, 5000);
  await stop(one, 5000);
});

for (const [what, saved] of [
  ['nothing', null],
  ['a damaged state', new TextEncoder().encode('half a {')],
] as const)
  test(`an agent whose shard another host had, but saved ${what}, keeps its state`, async (t) => {
    const { time, bus, hook, start, pass, observe, seen, warnings } = stage();
    const machine = new Machine(time, 1, 0);
    const one = start('agents-1', {
      broker: new FlakyBroker(bus.connect(), machine, time, new SeededRandom(2), () => ({
        delay: 5,
        lost: 0,
      })),
      clock: machine,
      timers: machine,
    });
    await pass(1000);
    for (let i = 0; i < 3; i++) await observe();
    await pass(1000);
    machine.held = true;
    const broker = bus.connect();
    const two = start('agents-2', { broker });
    await pass(5000);
    t.is(two.ownedShards, SHARDS);
    await broker.close();
    if (saved !== null)
      await hook.objects(objectStores.policies).put(shardObject(shardOf(FN)), saved);
    machine.resume();
    await observe();
    await pass(200);
    t.is(one.counts.elsewhere, 1);
    t.is(one.agents, 0, 'it is suspended');
    await pass(6000);
    await observe();
    await pass(200);
    const counted = seen('agents-1');
    await pass(200);
    t.is(await counted, 4);
    const failures = warnings.filter((text) => text.startsWith('cannot load suspended agents'));
    t.is(failures.length, saved === null ? 0 : 1);
    if (saved !== null) t.regex(failures[0]!, /continue from what this host still has of them, or/);
    const stopped = Promise.all([one.stop(), two.stop()]);
    await pass(5000);
    await stopped;
  });

test('an object that the store cannot read is replaced', async (t) => {
  const { bus, hook, start, pass, observe } = stage();
  bus.refusal = (store, operation) =>
    store === objectStores.policies && operation === 'read'
      ? new StoreError(store, 'some of its chunks are missing')
      : null;
  const one = start('agents-1');
  await pass(200);
  await observe();
  await pass(1000);
  bus.refusal = () => null;
  t.truthy(await hook.objects(objectStores.policies).get(shardObject(shardOf(FN))));
  await one.stop();
});

for (const [what, lapse] of [
  ['is down', false],
  ['and the leases are down', true],
] as const)
  test(`agents are loaded and not overwritten if the store ${what} at first`, async (t) => {
    const staged = stage();
    const { bus, hook, start, pass, stop, observe, seen, warnings } = staged;
    const one = start('agents-1');
    await pass(200);
    for (let i = 0; i < 3; i++) await observe();
    await stop(one);
    bus.refusal = (store, operation) =>
      store === objectStores.policies && operation === 'read'
        ? new StoreUnavailableError('policies', 'down')
        : null;
    const two = start('agents-2');
    await pass(3000);
    const targets: unknown[] = [];
    hook.subscribe(wildcards.targets, (message) => void targets.push(message));
    await observe();
    t.is(await seen('agents-2'), 1);
    t.is(targets.length, 1);
    if (!lapse) await pauseOrResume(hook, 'agents-2', 'pause');
    await pass(1000);
    if (lapse) await whileLapsed(staged, async () => {});
    bus.refusal = () => null;
    await pass(1000);
    await observe();
    // It waits for a newer one first.
    await pass(1000);
    t.is(await seen('agents-2'), 4);
    t.is(targets.length, lapse ? 2 : 1, 'a pause before the load outlasts it');
    t.like(await handOver(hook, 'agents-2'), { loaded: 1, unusable: 0 });
    t.is(warnings.filter((text) => text.startsWith('cannot load suspended agents')).length, 1);
    const leaving = two.stop();
    await pass(200);
    await leaving;
  });

test('a late load of an earlier lease has no effect on that of the next one', async (t) => {
  const time = new ManualTime();
  const reads: ((data: Uint8Array | null) => void)[] = [];
  const written: unknown[] = [];
  const agents = new LRUCache<string, Agent>({ max: 9 });
  const handOver = new HandOver({
    objects: {
      get: () => new Promise((resolve) => void reads.push(resolve)),
      put: async (_, data) => void written.push(JSON.parse(Buffer.from(data).toString())),
      delete: async () => {},
      names: async () => [],
    },
    agents,
    clock: time,
    timers: time,
    logger: silentLogger,
    newer: new NewerObjects(),
  });
  const shard = shardOf(FN);
  for (const epoch of [1, 3]) {
    const acquired = handOver.onAcquired(shard, epoch);
    time.advance(millis(1500));
    await acquired;
  }
  const decided = (): Agent => {
    const agent = new Agent(FN, counting as ResourceManager);
    handOver.loadState(agent);
    agents.set(FN, agent);
    handOver.decided(agent);
    return agent;
  };
  decided();
  const stored = (epoch: number, steps: number): Uint8Array =>
    encodeMessage({
      v: 1,
      shard,
      epoch,
      agents: { [FN]: { manager: 'counting', steps, state: { seen: steps } } },
    });
  reads[0]!(stored(0, 5));
  await settle();
  handOver.onTurn(() => 3);
  await settle();
  t.deepEqual(written, []);
  t.is(reads.length, 2);
  // What another host saved in between.
  reads[1]!(stored(2, 7));
  await settle();
  t.is(decided().steps, 7);
  handOver.onTurn(() => 3);
  await settle();
  t.like(written[0], { epoch: 3, agents: { [FN]: { steps: 7 } } });
});

test('an agent that is no longer resident is suspended, and resumed later', async (t) => {
  const { hook, start, pass, observe, seen } = stage();
  const one = start('agents-1', { resident: 1 });
  await pass(200);
  await observe();
  await observe('/guest/other');
  await observe();
  t.is(await seen('agents-1'), 2);
  t.like(await handOver(hook, 'agents-1'), { loaded: 1 });
  await one.stop();
});

for (const [title, bytes] of [
  ['that is not JSON', 'half a {'],
  ['of an unknown version', JSON.stringify({ v: 0, shard: shardOf(FN), epoch: 9, agents: {} })],
  ['without agents', JSON.stringify({ v: 1, shard: shardOf(FN), epoch: 9 })],
  ['that is empty', ''],
] as const) {
  test(`an object ${title} is logged once and the function starts from scratch`, async (t) => {
    const { hook, start, pass, observe, seen, warnings } = stage();
    await hook
      .objects(objectStores.policies)
      .put(shardObject(shardOf(FN)), new TextEncoder().encode(bytes));
    const one = start('agents-1');
    await pass(200);
    await observe();
    t.is(await seen('agents-1'), 1);
    t.is(warnings.filter((text) => text.includes('cannot load suspended agents')).length, 1);
    await one.stop();
  });
}

/** Functions of one shard. */
const SHARD_MATES = Array.from({ length: 500 }, (_, i) => `/guest/m${i}`)
  .filter((fn) => shardOf(fn) === shardOf(FN))
  .slice(0, 2);

test('an agent that cannot be read is skipped and named, its shard mates are not', async (t) => {
  const { hook, start, pass, observe, seen, warnings } = stage();
  const [mate, paused] = SHARD_MATES as [string, string];
  const one = { manager: 'counting', steps: 9, state: { seen: 9 } };
  const agents = { [FN]: { ...one, manager: 7 }, [mate]: one, [paused]: { ...one, paused: true } };
  const shard = shardOf(FN);
  await hook
    .objects(objectStores.policies)
    .put(shardObject(shard), encodeMessage({ v: 1, shard, epoch: 9, agents }));
  const host = start('agents-1');
  await pass(200);
  const targets: string[] = [];
  hook.subscribe(wildcards.targets, (message) => void targets.push(message.subject));
  for (const fn of [FN, mate, paused]) await observe(fn);
  t.deepEqual([await seen('agents-1'), await seen('agents-1', mate)], [1, 10]);
  t.deepEqual(targets, [subjects.target(FN), subjects.target(mate)]);
  t.like(await handOver(hook, 'agents-1'), { loaded: 2, unusable: 1, failures: 0 });
  const named = warnings.filter((text) => text.startsWith('cannot use some suspended agents'));
  t.is(named.length, 1);
  t.regex(named[0]!, /restart from the base policy .*\/guest\/hello: manager: [^\\]*"\]/);
  await host.stop();
});

test('beside the objects of a newer Gleaner a host saves and loads its own', async (t) => {
  const { hook, start, pass, stop, observe, seen, warnings } = stage();
  const objects = hook.objects(objectStores.policies);
  const functions = [FN, MOVING];
  const stored = new Map<string, Uint8Array>();
  for (const fn of functions) {
    // Nothing but the version is as in this one.
    const newer = encodeMessage({ v: 2, shards: [shardOf(fn)], agents: [] });
    stored.set(shardObject(shardOf(fn)), newer);
    await objects.put(shardObject(shardOf(fn)), newer);
  }
  const one = start('agents-1');
  await pass(200);
  for (const fn of functions) await observe(fn);
  await observe('/guest/other');
  t.is((await listed(hook, 'agents-1')).newerObjects, 2);
  await stop(one);
  for (const [name, newer] of stored) {
    t.deepEqual(await objects.get(name), newer);
    t.truthy(await objects.get(`${name}.v1`));
  }
  t.truthy(await objects.get(shardObject(shardOf('/guest/other'))));
  const kept = warnings.filter((text) => text.includes('of a newer Gleaner'));
  t.is(kept.length, 1);
  t.regex(kept[0]!, /"object":"agents-shard-(\d+)","own":"agents-shard-\1\.v1"/);
  t.false(warnings.some((text) => text.startsWith('cannot load')));
  const two = start('agents-2');
  await pass(3000);
  for (const fn of functions) await observe(fn);
  for (const fn of functions) t.is(await seen('agents-2', fn), 2);
  t.is(two.newerObjects, 2);
  await stop(two);
});

test('a state of another manager, or an unusable one, is dropped', async (t) => {
  const { hook, start, pass, observe, seen } = stage();
  const agents = {
    [FN]: { manager: 'another', steps: 9, state: { seen: 9 } },
    '/guest/hello2': { manager: 'counting', steps: 9, state: { seen: 'nine' } },
  };
  for (const [fn, saved] of Object.entries(agents)) {
    const shard = shardOf(fn);
    const stored = { v: 1, shard, epoch: 9, agents: { [fn]: saved } };
    await hook.objects(objectStores.policies).put(shardObject(shard), encodeMessage(stored));
  }
  const one = start('agents-1');
  await pass(200);
  await observe();
  await observe('/guest/hello2');
  t.deepEqual([await seen('agents-1'), await seen('agents-1', '/guest/hello2')], [1, 1]);
  t.like(await handOver(hook, 'agents-1'), { loaded: 0, unusable: 2 });
  await one.stop();
});

test('size evidence outlives its agent host, and damaged evidence is counted', async (t) => {
  const { bus, hook, start, pass, stop, observe } = stage();
  const advice = async (host: string) =>
    agentsService.advice.answer.parse(
      await callService(hook, { service: 'gleaner-agents', endpoint: 'advice', host, request: {} }),
    );
  const one = start('agents-1');
  await pass(200);
  for (let i = 0; i < 3; i++) await observe();
  await stop(one);
  const two = start('agents-2');
  await pass(3000);
  // 20 activations in each of three observations, all of them on the first host.
  t.is((await advice('agents-2')).functions[0]?.activations, 60);
  const leaving = two.stop();
  await pass(200);
  await leaving;
  const objects = bus.connect().objects(objectStores.policies);
  const name = shardObject(shardOf(FN));
  const stored = JSON.parse(Buffer.from((await objects.get(name))!).toString());
  t.is(stored.sizing[FN].activations, 60);
  stored.sizing[FN].activations = 'many';
  await objects.put(name, Buffer.from(JSON.stringify(stored)));
  const three = start('agents-3');
  await pass(3000);
  t.is((await advice('agents-3')).total, 0);
  t.is((await handOver(hook, 'agents-3')).unusable, 1);
  const ended = three.stop();
  await pass(200);
  await ended;
});
