import test from 'ava';
import { runAgentHost } from '../../../agents/host/index.js';
import { JsEngine, PolicyStore } from '../../../agents/nn/index.js';
import { InlineTrainer } from '../../../agents/ppo/index.js';
import { newWeights } from '../../../agents/simppo/base-policy.js';
import {
  BrokerBasePolicyStore,
  type BrokerBasePolicyStoreOptions,
} from '../../../agents/simppo/base-policy-store.js';
import {
  createSimppo,
  policyCheckpoint,
  SimppoManager,
  shippedPolicy,
  simppoSettings,
} from '../../../agents/simppo/index.js';
import { objectStores, subjects } from '../../../broker/index.js';
import { encodeMessage } from '../../../broker/messages/index.js';
import { type Millis, millis, SeededRandom } from '../../../config/index.js';
import { ManualTime } from '../../support/manual-time.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { observation } from '../../support/observations.js';
import { settle } from '../../support/settle.js';
import { activations, cap, online, view } from './scene.js';

const engine = new JsEngine();
const trainer = new InlineTrainer(engine);
const settings = { ...online, batch: 8 };
const shipped = newWeights({ engine, settings, seed: 1 });
/** A policy after this many updates. */
const learned = (updates: number, seed: number) => ({
  ...newWeights({ engine, settings, seed }),
  counters: { updates, steps: 8 * updates },
});

function stage() {
  const objects = new MemoryBus().connect().objects(objectStores.policies);
  const store = new PolicyStore(objects);
  const warnings: object[] = [];
  const logger = {
    debug() {},
    info() {},
    warn: (fields: object) => void warnings.push(fields),
    error() {},
  };
  const host = (changes: Partial<BrokerBasePolicyStoreOptions> = {}): BrokerBasePolicyStore =>
    new BrokerBasePolicyStore(store, {
      manager: 'simppo-quota',
      settings,
      seed: 1,
      shipped,
      logger,
      ...changes,
    });
  return { objects, store, warnings, host };
}

const found = (ownPolicyStore: BrokerBasePolicyStore) =>
  new Promise<ReturnType<typeof learned> | null>((done) => ownPolicyStore.load(done));

test('a restarted agent host finds the base policy that it has learned', async (t) => {
  const time = new ManualTime();
  const bus = new MemoryBus(time);
  const hook = bus.connect();
  let step = 0;
  const host = async (name: string, steps: number) => {
    const broker = bus.connect();
    const policies = new PolicyStore(broker.objects(objectStores.policies));
    const manager = createSimppo('simppo', {
      cap,
      policies,
      settings: { begin: 'online', ownRate: Number.POSITIVE_INFINITY, batch: 8 },
    });
    const random = new SeededRandom(1);
    const agents = runAgentHost({
      broker,
      clock: time,
      timers: time,
      random,
      manager,
      intervalMs: 1000,
      host: name,
    });
    t.teardown(() => agents.stop());
    for (let i = 0; i < 60; i++) {
      time.advance(millis(50));
      await settle();
    }
    for (let i = 0; i < steps; i++) {
      hook.publish(
        subjects.observation('/guest/f'),
        encodeMessage(observation({ step: ++step, function: '/guest/f' })),
      );
      await settle();
      time.advance(millis(1000));
      await settle();
    }
    const stopped = agents.stop();
    for (let i = 0; i < 20; i++) {
      time.advance(millis(50));
      await settle();
    }
    await stopped;
    return manager.quota.base;
  };
  const { counters } = shippedPolicy('simppo', 'quota', simppoSettings)!;
  const before = await host('agents-1', 10);
  t.is(before.updates, 1, 'nine steps have an outcome: one batch of eight');
  t.is(before.state.counters.updates, counters.updates + 1);
  const after = await host('agents-2', 1);
  t.is(after.updates, 0);
  t.deepEqual(after.state, before.state);
});

test('the base policy is stored with each update and loaded by new hosts only', async (t) => {
  const kept: number[] = [];
  let asked = 0;
  const basePolicyStore = {
    save: ({ counters }: { counters: { updates: number } }) => void kept.push(counters.updates),
    load: (done: (state: ReturnType<typeof learned>) => void) => done(learned(40 * ++asked, 2)),
  };
  const agent = new SimppoManager({
    name: 'simppo',
    settings,
    engine,
    trainer,
    base: shipped,
    seed: 1,
    cap,
    basePolicyStore,
  });
  let state = agent.initialState('/guest/f');
  const play = (at: number): void => {
    state = agent.decide(state, view(activations(1, 100)), at as Millis).state;
  };
  play(0);
  t.is(agent.base.state.counters.updates, 40, 'at its first step');
  for (let i = 1; i < 9; i++) play(10_000 * i);
  t.deepEqual(kept, [41]);
  play(3_600_000);
  t.is(asked, 1);
});

test('one that learns nothing looks again after ten minutes, and takes only what is ahead', (t) => {
  const answers = [null, learned(5, 2), learned(3, 3)];
  const basePolicyStore = {
    save: () => t.fail(),
    load: (done: (state: never) => void) => done(answers.shift() as never),
  };
  const serving = { ...settings, begin: 'serving' as const };
  const agent = new SimppoManager({
    name: 'simppo',
    settings: serving,
    engine,
    trainer,
    base: shipped,
    seed: 1,
    cap,
    basePolicyStore,
  });
  const at = (minutes: number): number => {
    agent.decide(agent.initialState('/guest/f'), view(), (60_000 * minutes) as Millis);
    return agent.base.state.counters.updates;
  };
  t.deepEqual([0, 9, 10, 20].map(at), [0, 0, 5, 5]);
  t.is(answers.length, 0);
});

test('of several hosts the most trained policy is kept, in any order of writes', async (t) => {
  const { host } = stage();
  const [first, second] = [host(), host()];
  t.is(await found(first), null);
  first.save(learned(5, 2));
  await settle();
  second.save(learned(4, 3));
  await settle();
  t.deepEqual(await found(second), learned(5, 2));
  second.save(learned(6, 3));
  second.save(learned(7, 4));
  second.save(learned(8, 5));
  await settle();
  t.deepEqual(await found(first), learned(8, 5), 'the newest of those that waited');
});

test('a policy from other shipped weights is ignored and overwritten', async (t) => {
  const { host, warnings } = stage();
  const old = host({ shipped: newWeights({ engine, settings, seed: 9 }) });
  old.save(learned(500, 2));
  await settle();
  const now = host();
  t.is(await found(now), null);
  now.save(learned(3, 3));
  await settle();
  t.deepEqual([await found(now), await found(old)], [learned(3, 3), null]);
  t.deepEqual(warnings, []);
});

test('damaged and foreign policies are overwritten; a newer Gleaner’s stays', async (t) => {
  const { host, objects, store, warnings } = stage();
  const ownPolicyStore = host();
  const name = 'base-simppo-quota';
  const good = learned(5, 2);
  ownPolicyStore.save(good);
  await settle();
  const whole = (await objects.get(name))!;
  await objects.put(name, whole.slice(0, -8));
  t.is(await found(ownPolicyStore), null);
  t.is(warnings.length, 1);
  ownPolicyStore.save(learned(2, 3));
  await settle();
  t.deepEqual(await found(ownPolicyStore), learned(2, 3));
  const other = { ...settings, virtual: 'none' as const };
  await store.save(
    name,
    policyCheckpoint(newWeights({ engine, settings: other, seed: 1 }), other, 1),
  );
  t.is(await found(ownPolicyStore), null);
  const newer = Buffer.from(
    Buffer.from(whole).toString('latin1').replace('"version":1,', '"version":2,'),
    'latin1',
  );
  await objects.put(name, newer);
  ownPolicyStore.save(learned(900, 4));
  await settle();
  t.deepEqual(Buffer.from((await objects.get(name))!), newer);
  t.deepEqual(await found(ownPolicyStore), learned(900, 4));
});
