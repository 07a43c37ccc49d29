import test from 'ava';
import { NewerObjects } from '../../../agents/index.js';
import { JsEngine, PolicyStore } from '../../../agents/nn/index.js';
import { InlineTrainer, type LearnerState } from '../../../agents/ppo/index.js';
import { newWeights } from '../../../agents/simppo/base-policy.js';
import { SimppoManager, type TrajectoryStep } from '../../../agents/simppo/index.js';
import type { LearningPolicy } from '../../../agents/simppo/learning-policy.js';
import type { SimppoOptions } from '../../../agents/simppo/manager.js';
import { OwnPolicies } from '../../../agents/simppo/own-policies.js';
import {
  BrokerOwnPolicyStore,
  type OwnPolicyStore,
} from '../../../agents/simppo/own-policy-store.js';
import type { RetrainTrigger } from '../../../agents/simppo/retrain-trigger.js';
import { nearest, profileOf } from '../../../agents/simppo/similarity.js';
import { silentLogger } from '../../../broker/index.js';
import { MIB, type Millis } from '../../../config/index.js';
import { MemoryBus } from '../../support/memory-broker/memory-bus.js';
import { activations, cap, online, view } from './scene.js';

const engine = new JsEngine();
const settings = { ...online, ownRate: 1, batch: 8, begin: 'serving' as const };

function manager(changes: Partial<SimppoOptions> = {}): SimppoManager {
  const trainer = new InlineTrainer(engine);
  return new SimppoManager({
    name: 'simppo',
    settings,
    engine,
    trainer,
    base: null,
    seed: 1,
    cap,
    ...changes,
  });
}

/** Twenty activations of `ms` per step of 10 s. Marked: it learns from the first step on. */
function play(
  agent: SimppoManager,
  fn: string,
  steps: number,
  each = 100,
  from = 0,
  learns = true,
): void {
  let state = agent.initialState(fn);
  if (learns) state = agent.retrain(state);
  for (let i = 0; i < steps; i++)
    state = agent.decide(
      state,
      view({ function: fn, ...activations(20, each) }),
      (from + 10_000 * i) as Millis,
    ).state;
}

/** A store that answers at once and records what it was asked. */
class FakePolicyStore implements OwnPolicyStore {
  readonly kept = new Map<string, LearnerState>();
  readonly sought: string[] = [];
  full = false;

  save(fn: string, state: LearnerState): boolean {
    if (this.full) return false;
    this.kept.set(fn, state);
    return true;
  }

  load(fn: string, done: (state: LearnerState | null) => void): void {
    this.sought.push(fn);
    done(this.kept.get(fn) ?? null);
  }
}

test.serial('a function’s weights are stored with each update, refused ones later', (t) => {
  const ownPolicyStore = new FakePolicyStore();
  const agent = manager({ ownPolicyStore, resident: 1 });
  play(agent, '/guest/a', 60);
  const updates = ownPolicyStore.kept.get('/guest/a')!.counters.updates;
  // Seven steps on the base policy until its rate is known, then batches of eight.
  t.is(updates, 6);
  ownPolicyStore.full = true;
  play(agent, '/guest/a', 20, 100, 1e6);
  t.is(ownPolicyStore.kept.get('/guest/a')!.counters.updates, updates);
  ownPolicyStore.full = false;
  play(agent, '/guest/b', 60, 100, 2e6);
  t.true(
    ownPolicyStore.kept.get('/guest/a')!.counters.updates > updates,
    'when it had to leave memory',
  );
  // Another host has gone on with it: what this one lets go of is older and already there.
  const elsewhere = newWeights({ engine, settings, seed: 9 });
  ownPolicyStore.kept.set('/guest/b', elsewhere);
  play(agent, '/guest/c', 60, 100, 3e6);
  t.is(ownPolicyStore.kept.get('/guest/b'), elsewhere);
});

test.serial('the least recently used weights leave memory and are loaded again', (t) => {
  const ownPolicyStore = new FakePolicyStore();
  const seen: TrajectoryStep[] = [];
  const agent = manager({ ownPolicyStore, resident: 1, onStep: (step) => seen.push(step) });
  play(agent, '/guest/a', 60);
  t.deepEqual(ownPolicyStore.sought, ['/guest/a'], 'asked once');
  play(agent, '/guest/b', 60);
  const kept = ownPolicyStore.kept.get('/guest/a')!;
  t.true(kept.counters.updates > 0);
  seen.length = 0;
  // It serves now: no own weights except the stored ones.
  play(agent, '/guest/a', 20, 100, 1e6, false);
  t.is(seen.at(-1)?.policy, 'own');
  t.true([...ownPolicyStore.kept.keys()].includes('/guest/b'), 'there is room for one');
});

/** A policy that has learned so often. */
const fake = (state: LearnerState, updates: number): LearningPolicy =>
  ({ state, updates, import: () => {}, dispose: () => {} }) as unknown as LearningPolicy;

test('a new policy starts from the most similar trained one, or the base policy', (t) => {
  const [base, fast, slow, fresh] = [0, 1, 2, 3].map((seed) =>
    newWeights({ engine, settings, seed }),
  ) as [LearnerState, LearnerState, LearnerState, LearnerState];
  const given: Record<string, [LearnerState, number]> = {
    fast: [fast, 5],
    slow: [slow, 5],
    fresh: [fresh, 0],
  };
  const own = new OwnPolicies({
    resident: 10,
    ownPolicyStore: undefined,
    base: () => base,
    make: (fn, state) => fake(...(given[fn] ?? [state, 0])),
  });
  for (const [fn, each] of Object.entries({ fast: 10, slow: 100_000, fresh: 12, twin: 11 }))
    own.see(view({ function: fn, ...activations(20, each) }).observation);
  for (const fn of Object.keys(given)) own.begin(fn);
  t.is(own.begin('twin').state, fast, 'fresh is nearer still and has learned nothing');
  t.is(own.begin('unknown').state, base, 'nothing is known of it');
});

test('similar is what is within .15 of the scales, root mean square', (t) => {
  const profile = (each: number) => profileOf(view(activations(20, each)).observation)!;
  t.is(
    nearest(profile(11), [
      [profile(10), 'fast'],
      [profile(10_000), 'slow'],
    ]),
    'fast',
  );
  // log10(10,000 / 10) / 6 = .5 of one dimension in seven: .5 / sqrt 7 = .19.
  t.is(nearest(profile(10_000), [[profile(10), 'fast']]), undefined);
  t.is(nearest([], [[profile(10), 'fast']]), undefined);
});

test('a step in which nothing ended says nothing of what a function is like', (t) => {
  t.is(profileOf(view({ ...activations(0, 1), activations: 0 }).observation), null);
  const [length, , memory, size] = profileOf(
    view({
      ...activations(20, 1000),
      user: { cpu: 1000 as never, memory: (256 * MIB) as never, shares: 256 },
    }).observation,
  )!;
  // 1000 ms: 3 / 6, within a histogram's bucket. 256 MiB is two octaves above 64: 2 / 5.
  t.true(Math.abs(length! - 0.5) < 0.02 && memory! >= 0);
  t.is(size, 0.4);
});

test.serial(
  'a trigger makes an agent learn, and serving and learning agents report their steps',
  (t) => {
    const marked = new Set<string>();
    const trigger: RetrainTrigger = {
      shouldRetrain: ({ function: fn }) => marked.delete(fn),
    };
    const steps: TrajectoryStep[] = [];
    const agent = manager({ trigger, onStep: (step) => steps.push(step) });
    let state = agent.initialState('/guest/f');
    const play = (from: number, count: number): void => {
      for (let i = from; i < from + count; i++)
        state = agent.decide(
          state,
          view({ function: '/guest/f', ...activations(1, 100) }),
          (10_000 * i) as Millis,
        ).state;
    };
    play(0, 5);
    // The first decision has no outcome before the second observation.
    t.deepEqual(
      steps.map(({ sampled, policy, episode, step }) => [sampled, policy, episode, step]),
      [0, 1, 2, 3].map((step) => [false, 'base', 0, step]),
    );
    marked.add('/guest/f');
    play(5, 4);
    t.is(agent.phase(state), 'online');
    t.deepEqual(
      steps.map(({ sampled }) => sampled),
      [false, false, false, false, false, true, true, true],
    );
    t.true(
      steps.every(
        ({ mask, action, logProbability, state: input }) =>
          mask[action] === 1 && logProbability <= 0 && input.length === 29,
      ),
    );
    // 65 s of silence: what comes then follows from nothing.
    play(15, 2);
    t.deepEqual(
      steps.slice(-1).map(({ episode, step }) => [episode, step]),
      [[1, 0]],
    );
  },
);

test('an episode has 200 steps', (t) => {
  const steps: TrajectoryStep[] = [];
  const agent = manager({ onStep: (step) => steps.push(step) });
  let state = agent.initialState('/guest/f');
  for (let i = 0; i < 203; i++)
    state = agent.decide(state, view(activations(1, 100)), (10_000 * i) as Millis).state;
  t.deepEqual(
    steps.slice(-3).map(({ episode, step }) => [episode, step]),
    [
      [0, 199],
      [1, 0],
      [1, 1],
    ],
  );
});

test('stored policies are found with their moments; foreign objects are no policy', async (t) => {
  const broker = new MemoryBus().connect();
  const store = new PolicyStore(broker.objects('gleaner_policies'));
  const ownPolicyStore = new BrokerOwnPolicyStore(store, { manager: 'simppo', settings, seed: 1 });
  const load = (fn: string): Promise<LearnerState | null> =>
    new Promise((resolve) => ownPolicyStore.load(fn, resolve));
  const state = newWeights({ engine, settings, seed: 5 });
  ownPolicyStore.save('/guest/f', state);
  await new Promise((resolve) => setImmediate(resolve));
  const found = await load('/guest/f');
  t.deepEqual(
    [found?.actor, found?.critic, found?.counters],
    [state.actor, state.critic, state.counters],
  );
  t.is(await load('/guest/g'), null);
  const other = new BrokerOwnPolicyStore(store, {
    manager: 'simppo',
    settings: { ...settings, virtual: 'none' },
    seed: 1,
  });
  t.is(await new Promise((resolve) => other.load('/guest/f', resolve)), null, 'of another width');
});

test('beside a stored policy of a newer Gleaner this one stores its own', async (t) => {
  const objects = new MemoryBus().connect().objects('gleaner_policies');
  const lines: string[] = [];
  const warn = (fields: object, message: string): void =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const newerObjects = new NewerObjects({ ...silentLogger, warn });
  const store = new PolicyStore(objects, newerObjects);
  const ownPolicyStore = new BrokerOwnPolicyStore(store, { manager: 'simppo', settings, seed: 1 });
  const load = (fn: string): Promise<LearnerState | null> =>
    new Promise((resolve) => ownPolicyStore.load(fn, resolve));
  const save = async (fn: string, state: LearnerState): Promise<void> => {
    t.true(ownPolicyStore.save(fn, state));
    await new Promise((resolve) => setImmediate(resolve));
  };
  await save('/guest/f', newWeights({ engine, settings, seed: 5 }));
  const [name = ''] = await objects.names();
  const text = Buffer.from((await objects.get(name))!).toString('latin1');
  const newer = text.replace(/"version":\d/, '"version":9');
  t.not(newer, text);
  await objects.put(name, Buffer.from(newer, 'latin1'));
  t.is(await load('/guest/f'), null);
  const learned = newWeights({ engine, settings, seed: 6 });
  await save('/guest/f', learned);
  await save('/guest/g', learned);
  t.is(Buffer.from((await objects.get(name))!).toString('latin1'), newer);
  t.deepEqual((await load('/guest/f'))?.actor, learned.actor);
  t.not(await load('/guest/g'), null);
  t.is(newerObjects.count, 1);
  t.is(lines.length, 1);
  t.true(lines[0]!.includes(`"object":"${name}","own":"${name}.v1"`));
  // With the newer one's object the way back is free.
  await objects.delete(name);
  t.is(await load('/guest/f'), null);
  t.is(newerObjects.count, 0);
});
