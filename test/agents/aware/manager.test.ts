import test from 'ava';
import {
  EMBEDDING_LENGTH,
  type Encoder,
  lifeCycleSettings,
  shippedMeta,
} from '../../../agents/aware/index.js';
import type { OfflineTrainer } from '../../../agents/aware/life-cycle/offline-trainer.js';
import type { AwareBase } from '../../../agents/aware/manager.js';
import { AwareManager, type AwareState } from '../../../agents/aware/manager.js';
import type { PhaseChange, ResourceManager, View } from '../../../agents/index.js';
import { createManager } from '../../../agents/managers/index.js';
import { defaultEngine } from '../../../agents/nn/index.js';
import {
  onlineSettings,
  Policy,
  ppoShapes,
  type TrainingJob,
  type TrainingResult,
  train,
} from '../../../agents/ppo/index.js';
import { settingsOf } from '../../../agents/simppo/index.js';
import type { Observation } from '../../../broker/messages/index.js';
import { type Millicores, type Millis, mebibytes, SeededRandom } from '../../../config/index.js';
import { amounts, granted, observation } from '../../support/observations.js';
import { settle } from '../../support/settle.js';

const cap = { cpu: 4000 as Millicores, memory: mebibytes(1024) };
/** A fallback that always asks for 700 millicores. */
const steady: ResourceManager<null> = {
  name: 'steady',
  initialState: () => null,
  phase: () => 'managing',
  decide: () => ({ state: null, decision: { cpu: 700 as Millicores, actions: [0, 0, 0] } }),
};
const engine = defaultEngine(() => {});
const short = { ...lifeCycleSettings, episodeSteps: 4, window: 2 };

function manager(
  options: {
    target?: { bootstrap: boolean; heldOffline: boolean };
    fallback?: ResourceManager;
    base?: AwareBase;
    encoder?: Encoder;
    lifeCycle?: typeof lifeCycleSettings;
    offlineTrainer?: OfflineTrainer;
    onStart?: (mode: Observation['cpuMode']) => void;
  } = {},
) {
  return new AwareManager({
    base: options.base ?? 'simppo',
    encoder: options.encoder ?? null,
    fallback: options.fallback ?? (steady as ResourceManager),
    settings: settingsOf('simppo'),
    lifeCycle: options.lifeCycle ?? short,
    offlineTrainer: options.offlineTrainer,
    lifeCycleOverrides: () => options.target ?? { bootstrap: true, heldOffline: false },
    engine,
    cap,
    seed: 1,
    start: (mode) => {
      options.onStart?.(mode);
      return null;
    },
    resident: 2,
  });
}

/** One observation every 10 s with the last target in force; `good`: whether the SLO is met. */
function play(
  under: AwareManager,
  from: AwareState,
  steps: number,
  {
    good = true,
    activations = 20,
    start = 0,
    cpuMode = 'quota',
  }: {
    good?: boolean;
    activations?: number;
    start?: number;
    cpuMode?: Observation['cpuMode'];
  } = {},
) {
  const random = new SeededRandom(1);
  let state = from;
  let cpu = 1000;
  const decided: number[] = [];
  const changes: PhaseChange[] = [];
  for (let i = 1; i <= steps && changes.length === 0; i++) {
    const seen: Partial<Observation> = {
      activations,
      cpuMode,
      granted: granted(cpu, 256),
      used: amounts(400, 100),
      peak: amounts(500, 128),
      slo: (good ? 200 : 10) as Millis,
    };
    const view: View = {
      observation: observation(seen),
      features: [0.4, 1, 0.1, 0, 0.1, 0.2],
      others: null,
      price: null,
      random,
    };
    const {
      state: next,
      decision,
      transitions = [],
    } = under.decide(state, view, ((start + i) * 10_000) as Millis);
    state = next;
    cpu = decision.cpu ?? cpu;
    decided.push(cpu);
    // The first decision of all tells that it begins.
    changes.push(...transitions.filter(({ from }) => from !== 'initialized'));
  }
  return { state, decided, changes };
}

test('offline the fallback acts, whatever the agent would do', (t) => {
  const under = manager({ target: { bootstrap: true, heldOffline: true } });
  const { state, decided, changes } = play(under, under.initialState('/_/f'), 24);
  t.is(under.phase(state), 'offline');
  t.deepEqual(new Set(decided), new Set([700]));
  t.deepEqual(changes, []);
});

test('without bootstrapping the agent acts at once; low steps bring the fallback back', (t) => {
  const under = manager({ target: { bootstrap: false, heldOffline: false } });
  const first = play(under, under.initialState('/_/f'), 1, { good: false });
  t.is(under.phase(first.state), 'online');
  // The first observation closes no step: the guard has seen nothing yet.
  const second = play(under, first.state, 2, { good: false, start: 1 });
  t.is(under.phase(second.state), 'online');
  const third = play(under, second.state, 1, { good: false, start: 3 });
  t.is(under.phase(third.state), 'guarded');
  t.deepEqual(third.decided, [700]);
});

test('steps without activations end no episode and do not move the guard', (t) => {
  const under = manager({ target: { bootstrap: false, heldOffline: false } });
  const { state } = play(under, under.initialState('/_/f'), 50, { activations: 0, good: false });
  t.is(state.lifeCycleRun.life.episodes, 0);
  t.is(under.phase(state), 'online');
});

test('what the agent does not decide stays with the fallback, as containers', (t) => {
  let containers = 0;
  const growing: ResourceManager<null> = {
    ...steady,
    decide: () => ({
      state: null,
      decision: {
        cpu: 700 as Millicores,
        containers: ++containers,
        memory: mebibytes(300),
        actions: [1, 0, 0],
      },
    }),
  };
  const under = manager({
    target: { bootstrap: false, heldOffline: false },
    fallback: growing as ResourceManager,
  });
  const view: View = {
    observation: observation({ cpuMode: 'weight', slo: 200 as Millis }),
    features: [0.4, 1, 0.1, 0, 0.1, 0.2],
    others: null,
    price: null,
    random: new SeededRandom(3),
  };
  let state = under.initialState('/_/f');
  for (let i = 1; i <= 5; i++) {
    const decided = under.decide(state, view, (i * 10_000) as Millis);
    state = decided.state;
    t.is(under.phase(state), 'online');
    const { decision } = decided;
    t.is(decision.containers, i);
    t.is(decision.memory, mebibytes(300));
    // The CPU is the agent's: no amount beside its factor, and its own steps.
    t.is(decision.cpu, undefined);
    t.true(decision.weightFactor! > 0);
    t.is(decision.actions[0], 0);
  }
});

test('by weight an agent continues from the weight of the fallback’s CPU target', (t) => {
  const fallback: ResourceManager<null> = {
    ...steady,
    decide: () => ({ state: null, decision: { cpu: 1700 as Millicores, actions: [0, 0, 0] } }),
  };
  const under = manager({ fallback: fallback as ResourceManager });
  const random = new SeededRandom(1);
  const seen = observation({
    cpuMode: 'weight',
    slo: 200 as Millis,
    user: { ...amounts(1000, 256), shares: 256 },
  });
  const view: View = {
    observation: seen,
    features: [0.4, 1, 0.1, 0, 0.1, 0.2],
    others: null,
    price: null,
    random,
  };
  const offline = under.decide(under.initialState('/_/f'), view, 10_000 as Millis);
  t.is(under.phase(offline.state), 'offline');
  const { lifeCycleRun } = offline.state;
  const online = {
    ...offline.state,
    lifeCycleRun: { ...lifeCycleRun, life: { ...lifeCycleRun.life, phase: 'online' as const } },
  };
  const { decision } = under.decide(online, view, 20_000 as Millis);
  // Hooks multiply the weight by 1700 of the user's 1000 millicores. One step of the square root of
  // 2 from there, or none, and at most 2.
  const near = [1.7 / Math.SQRT2, 1.7, 2].some(
    (factor) => Math.abs(decision.weightFactor! - factor) < 1e-9,
  );
  t.true(near, `${decision.weightFactor}`);
});

test('offline to online: reported with its figures when the estimate is as good', (t) => {
  const under = manager();
  const { state, changes } = play(under, under.initialState('/_/f'), 400);
  // Everything earns the same here, so the estimate comes to what the fallback earns; when is the
  // surrogate's affair.
  t.true(changes.length > 0, under.phase(state));
  t.is(changes[0]!.from, 'offline');
  t.is(changes[0]!.to, 'online');
  t.regex(changes[0]!.reason, /estimate -?\d+\.\d+ reaches -?\d+\.\d+/);
});

test('a function that is saved and loaded elsewhere continues with its weights', (t) => {
  const under = manager({ target: { bootstrap: false, heldOffline: false } });
  const { state } = play(under, under.initialState('/_/f'), 10);
  const saved = JSON.parse(JSON.stringify(under.saveState(state)));
  const other = manager({ target: { bootstrap: false, heldOffline: false } });
  const loaded = other.loadState('/_/f', saved);
  t.truthy(loaded);
  t.deepEqual(loaded!.lifeCycleRun.life, state.lifeCycleRun.life);
  t.deepEqual(other.saveState(loaded!), under.saveState(state));
});

test('a loaded agent continues with its embedding', (t) => {
  const options = {
    encoder: shippedMeta().encoder,
    target: { bootstrap: false, heldOffline: false },
  };
  const under = manager(options);
  // More than one episode of four steps.
  const { state } = play(under, under.initialState('/_/f'), 6);
  const other = manager(options);
  const loaded = other.loadState('/_/f', JSON.parse(JSON.stringify(under.saveState(state))))!;
  const embeddingIn = (after: AwareState) =>
    Object.values(after.hosts)[0]!.pending!.input.slice(-EMBEDDING_LENGTH);
  const next = play(other, loaded, 1, { start: 6 }).state;
  t.true(embeddingIn(next).some((value) => value !== 0));
  t.deepEqual(embeddingIn(next), embeddingIn(state));
});

test('an agent starts, and starts again, from the weights for the mode that it is in', (t) => {
  const modes = new Set<string>();
  const target = { bootstrap: false, heldOffline: false };
  const options = { target, onStart: (mode: string) => void modes.add(mode) };
  const under = manager(options);
  const begun = play(under, under.initialState('/_/f'), 2, { cpuMode: 'weight' }).state;
  t.deepEqual([...modes], ['weight']);
  const saved = JSON.parse(JSON.stringify(under.saveState(begun)));
  modes.clear();
  const other = manager(options);
  let state = other.loadState('/_/f', saved)!;
  t.deepEqual([...modes], ['weight']);
  // The host changes to quotas, and the operator sends the agent back.
  state = play(other, state, 2, { start: 2 }).state;
  modes.clear();
  target.heldOffline = true;
  const { changes } = play(other, state, 8, { start: 4 });
  t.is(changes[0]?.to, 'offline');
  t.deepEqual([...modes], ['quota']);
});

test('a saved state that is damaged, foreign, or of other networks is refused', (t) => {
  const under = manager();
  const { state } = play(under, under.initialState('/_/f'), 3);
  const saved = under.saveState(state) as { life: string; actor: string; critic: string };
  t.is(under.loadState('/_/other', saved), null, 'another function’s');
  t.is(under.loadState('/_/f', { ...saved, actor: 'AAAA' }), null);
  t.is(under.loadState('/_/f', { ...saved, life: '{}' }), null);
  t.is(under.loadState('/_/f', { ...saved, embedding: 'AAAA' }), null, 'it has none');
  t.is(under.loadState('/_/f', null), null);
  const nan = Buffer.from(new Float32Array([Number.NaN]).buffer).toString('base64');
  t.is(under.loadState('/_/f', { ...saved, actor: nan + saved.actor.slice(nan.length) }), null);
});

test('an agent whose weights are no longer in memory does not act', (t) => {
  const under = manager({ target: { bootstrap: true, heldOffline: false } });
  const online = play(under, under.initialState('/_/f'), 400).state;
  t.not(under.phase(online), 'offline');
  // Two others take the places that there are.
  for (const fn of ['/_/g', '/_/h']) play(under, under.initialState(fn), 1);
  const { state, decided, changes } = play(under, online, 1, { start: 400 });
  t.is(under.phase(state), 'offline');
  t.regex(changes[0]?.reason ?? '', /weights are no longer in memory/);
  t.deepEqual(decided, [700]);
});

for (const base of ['simppo', 'firm'] as const)
  test(`${base} with the meta-learner: it goes online; only the same base loads its state`, (t) => {
    const options = { base, encoder: shippedMeta().encoder };
    const under = manager(options);
    const { state, changes } = play(under, under.initialState('/_/f'), 400);
    t.is(changes[0]?.to, 'online', under.phase(state));
    const saved = JSON.parse(JSON.stringify(under.saveState(state)));
    t.deepEqual(
      manager(options).loadState('/_/f', saved)?.lifeCycleRun.life,
      state.lifeCycleRun.life,
    );
    t.is(
      manager({ base }).loadState('/_/f', saved),
      null,
      'without the embedding its networks are narrower',
    );
    t.is(
      manager({ ...options, base: base === 'firm' ? 'simppo' : 'firm' }).loadState('/_/f', saved),
      null,
    );
  });

test('told to retrain, it goes online from serving and stays where it is otherwise', (t) => {
  const under = manager();
  const initial = under.initialState('/_/f');
  t.is(under.phase(under.retrain(initial)), 'offline');
  const serving = {
    ...initial,
    lifeCycleRun: {
      ...initial.lifeCycleRun,
      life: { ...initial.lifeCycleRun.life, phase: 'serving' as const },
    },
  };
  const told = under.retrain(serving);
  t.is(under.phase(told), 'online');
  // The event comes with the next decision, once; the episode under way was of another phase.
  t.deepEqual(
    play(under, { ...told, lifeCycleRun: { ...told.lifeCycleRun } }, 1).changes.map(
      ({ from, to, reason }) => `${from} to ${to}: ${reason}`,
    ),
    ['serving to online: told to retrain'],
  );
  t.like(told.lifeCycleRun, { steps: 0, sum: 0 });
  t.deepEqual(under.retrain(initial).unreported, initial.unreported);
});

test('a function begins with an event, and says where it stands', (t) => {
  const under = manager();
  const initial = under.initialState('/_/f');
  t.deepEqual(
    initial.unreported.map(({ from, to }) => `${from} to ${to}`),
    ['initialized to offline'],
  );
  const { state } = play(under, initial, 3);
  t.deepEqual(state.unreported, []);
  t.regex(under.about(state), /^0 episodes judged, 0 in this phase, \d+ of \d+ steps of the next$/);
  t.regex(
    manager({ target: { bootstrap: true, heldOffline: true } }).about(state),
    /held offline by the operator$/,
  );
});

test('held offline while it was saved: it is offline as soon as it is loaded', (t) => {
  const under = manager({ target: { bootstrap: false, heldOffline: false } });
  const { state } = play(under, under.initialState('/_/f'), 10);
  t.is(under.phase(state), 'online');
  const held = manager({ target: { bootstrap: true, heldOffline: true } });
  const loaded = held.loadState('/_/f', JSON.parse(JSON.stringify(under.saveState(state))));
  t.is(held.phase(loaded!), 'offline');
  t.deepEqual(
    play(held, loaded!, 1).changes.map(({ reason }) => reason),
    ['held offline by the operator'],
  );
});

test('by name: the shipped policy, guarded, and it can be saved', (t) => {
  const named = createManager('aware', { cap });
  t.is(named.name, 'aware');
  t.is(named.phase(named.initialState('/_/f')), 'offline');
  t.is(typeof named.saveState, 'function');
  t.is(typeof named.loadState, 'function');
});

for (const cpuMode of ['weight', 'quota'] as const)
  test(`by name: offline a function keeps its user limits in ${cpuMode} mode`, (t) => {
    const named = createManager('aware', { cap });
    const user = { ...amounts(700, 256), shares: 256 };
    const seen = observation({ cpuMode, user, used: amounts(50, 30), peak: amounts(80, 40) });
    const view: View = {
      observation: seen,
      features: [0.4, 1, 0.1, 0, 0.1, 0.2],
      others: null,
      price: null,
      random: new SeededRandom(1),
    };
    let state = named.initialState('/_/f');
    for (let i = 1; i <= 5; i++) {
      const decided = named.decide(state, view, (i * 10_000) as Millis);
      state = decided.state;
      // The user's CPU is a weight factor of 1; no containers: the platform scales by itself.
      t.deepEqual(decided.decision, { cpu: user.cpu, memory: user.memory, actions: [0, 0, 0] });
    }
  });

test('by name: a function that the operator holds offline stays offline', (t) => {
  const lifeCycleOverrides = () => ({ bootstrap: false, heldOffline: true });
  const held = createManager('aware', { cap, lifeCycleOverrides });
  t.is(held.phase(held.initialState('/_/f')), 'offline');
  const free = createManager('aware', {
    cap,
    lifeCycleOverrides: () => ({ bootstrap: false, heldOffline: false }),
  });
  t.is(free.phase(free.initialState('/_/f')), 'online');
});

/** It stays online; its updates wait for `done`. */
function learning() {
  const jobs: { job: TrainingJob; done: (result: TrainingResult) => void }[] = [];
  const offlineTrainer: OfflineTrainer = {
    trainOffline: async () => null,
    trainFirmOffline: async () => null,
    update: (job) => new Promise((done) => jobs.push({ job, done })),
    close: async () => {},
  };
  const under = manager({
    target: { bootstrap: false, heldOffline: false },
    lifeCycle: { ...lifeCycleSettings, episodeSteps: 10_000 },
    offlineTrainer,
  });
  return { under, jobs };
}

test('after a pause a new segment begins: what was decided before it is not learned', (t) => {
  const { under, jobs } = learning();
  const first = play(under, under.initialState('/_/f'), 101);
  // 1000 s without an observation: the last decision is too old to be judged.
  play(under, first.state, 101, { start: 201 });
  t.is(jobs.length, 1);
  const { segments } = jobs[0]!.job.rollout;
  t.deepEqual(
    segments.map(({ from, to }) => [from, to]),
    [
      [0, 100],
      [100, 200],
    ],
  );
});

test('a step counts with its probability when it was chosen, not when it is learned', async (t) => {
  const { under, jobs } = learning();
  // A step is learned from with the observation after it.
  const first = play(under, under.initialState('/_/f'), 201);
  t.is(jobs.length, 1);
  const { job, done } = jobs[0]!;
  const { state, metrics } = train(engine, job);
  // So far that no action is as probable as before.
  const trained = { ...state, actor: state.actor.map((weight) => 3 * weight) };
  done({ state: trained, metrics });
  await settle();
  play(under, first.state, 200, { start: 201 });
  t.is(jobs.length, 2);
  const { rollout, shape } = jobs[1]!.job;
  const { features, actions: width } = shape as { features: number; actions: number };
  const logProbability = (actor: Float32Array, row: number): number => {
    const network = engine.network(ppoShapes({ features, actions: width }, onlineSettings).actor);
    network.import(actor);
    const policy = new Policy(network);
    policy.decide(
      rollout.inputs.subarray(row * features, (row + 1) * features),
      rollout.masks.subarray(row * width, (row + 1) * width),
    );
    network.dispose();
    return Math.fround(policy.logProbability(rollout.actions[row]!));
  };
  const old = logProbability(job.state.actor, 0);
  t.not(old, logProbability(trained.actor, 0));
  t.is(rollout.logProbabilities[0], old, 'chosen before the update arrived');
  for (let row = 1; row < rollout.rows; row++)
    t.is(rollout.logProbabilities[row], logProbability(trained.actor, row), `row ${row}`);
});
