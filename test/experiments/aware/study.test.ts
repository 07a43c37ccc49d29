import test from 'ava';
import {
  aimedStep,
  cosine,
  META_FEATURES,
  metaFeatures,
  NO_RATES,
  shippedMeta,
} from '../../../agents/aware/index.js';
import { defaultEngine, JsEngine } from '../../../agents/nn/index.js';
import { newActorCritic } from '../../../agents/ppo/index.js';
import { SeededRandom } from '../../../config/index.js';
import {
  type AdaptationRow,
  type AdaptationRun,
  adaptationRows,
  moreThan,
  timesOf,
} from '../../../experiments/aware/adaptation.js';
import type { AwareAllocation } from '../../../experiments/aware/allocation.js';
import { demandOf } from '../../../experiments/aware/demand.js';
import {
  AgentRun,
  agentPpo,
  conservativePpo,
  controlledEpisode,
  FLASH_EPISODE_STEPS,
} from '../../../experiments/aware/episodes.js';
import {
  metaTraining,
  trainMetaLearner,
  tripletShare,
  withoutEmbedding,
} from '../../../experiments/aware/meta-training.js';
import { awareReport } from '../../../experiments/aware/reproduce.js';
import { hpaVpaController, tuned } from '../../../experiments/aware/rule-based.js';
import { gatherStudy } from '../../../experiments/aware/study.js';
import { blindEncoder, unconditionedMeta } from '../../../experiments/aware/study-parts.js';
import { awarePieces, pieceKey } from '../../../experiments/aware/study-pieces.js';
import { FIRST_SEED, pairsOf } from '../../../experiments/aware/study-request.js';
import { playPieces } from '../../../experiments/aware/study-threads.js';
import { AwareSystem, type SystemSnapshot } from '../../../experiments/aware/system.js';
import { appsOf } from '../../../experiments/aware/training-thread.js';

const engine = defaultEngine(() => {});
const some = <T>(from: readonly T[], count: number): T[] =>
  Array.from({ length: count }, (_, i) => from[Math.floor((i * from.length) / count)]!);

test('the shipped meta-learner gets 95 % of held-out triplets right', (t) => {
  // 40 of the 200; all of them: gleaner reproduce aware.
  const { share } = tripletShare(shippedMeta().encoder, some(appsOf('test'), 40), {
    triplets: 1000,
    episodes: 1,
    seed: 5,
  });
  t.log(`${(100 * share).toFixed(1)} % with one episode in each bundle`);
  t.true(share >= 0.9, `${share}`);
  const two = tripletShare(shippedMeta().encoder, some(appsOf('test'), 40), {
    triplets: 1000,
    episodes: 2,
    seed: 6,
  });
  t.log(`${(100 * two.share).toFixed(1)} % with two`);
  t.true(two.share >= 0.95, `${two.share}`);
});

test('under its life cycle an agent acts once its estimate is as good, with figures', (t) => {
  const demand = demandOf(appsOf('train')[3]!);
  const agentRun = new AgentRun({
    engine,
    course: 'life-cycle',
    seed: 3,
    ppo: conservativePpo,
    start: null,
    encoder: null,
    transfer: false,
    fallback: hpaVpaController(demand, tuned(demand, 9)),
  });
  const records = Array.from({ length: 60 }, (_, i) => ({ i, record: agentRun.episode(system) }));
  const { transitions } = agentRun;
  agentRun.dispose();
  t.true(
    records.slice(0, 10).every(({ record }) => record.acted === 0),
    'offline the agent takes no step',
  );
  const [first] = transitions;
  t.is(first?.from, 'offline');
  t.is(first?.to, 'online');
  t.true(first!.window!.mean >= first!.threshold!);
  t.true(records.slice(first!.episode + 1).some(({ record }) => record.acted > 0.5));
});
const system = new AwareSystem(demandOf(appsOf('train')[3]!), 3);

test('bootstrapping learns: a clone earns nearly what the fallback does', (t) => {
  const demand = demandOf(appsOf('train')[11]!);
  const tuning = tuned(demand, 9);
  const world = new AwareSystem(demand, 4);
  const options = {
    engine,
    seed: 4,
    ppo: agentPpo,
    encoder: null,
    transfer: false,
  } as const;
  const demonstrator = new AgentRun({
    ...options,
    course: 'life-cycle',
    start: null,
    fallback: hpaVpaController(demand, tuning),
    cloneOnly: true,
  });
  let cloned = 0;
  for (let i = 0; i < 10; i++) cloned = demonstrator.episode(world).earned;
  const start = demonstrator.learner.agent.export();
  const agentRun = new AgentRun({
    ...options,
    course: 'serving',
    start,
    fallback: hpaVpaController(demand, tuning),
  });
  let earned = 0;
  for (let i = 0; i < 10; i++) earned += agentRun.episode(world).earned / 10;
  demonstrator.dispose();
  agentRun.dispose();
  t.true(earned >= 0.9 * cloned, `${earned} after ${cloned}`);
});

test('the same seed, the same episodes; and embeddings do not depend on the engine', (t) => {
  const play = (by: typeof engine): number[] => {
    const demand = demandOf(appsOf('train')[5]!);
    const agentRun = new AgentRun({
      engine: by,
      course: 'online',
      seed: 8,
      ppo: conservativePpo,
      start: shippedMeta().base,
      encoder: shippedMeta().encoder,
      transfer: false,
      fallback: { decide: ({ allocation }) => allocation },
    });
    const world = new AwareSystem(demand, 8);
    const earned = Array.from({ length: 3 }, () => agentRun.episode(world).earned);
    agentRun.dispose();
    return earned;
  };
  t.deepEqual(play(engine), play(engine));
  t.true(Math.abs(play(new JsEngine())[0]! - play(engine)[0]!) < 0.1);
});

test('an agent sees each step once, across episodes too, by the SLO that agents aim at', (t) => {
  const demand = demandOf(appsOf('train')[5]!);
  const agentRun = new AgentRun({
    engine,
    course: 'online',
    seed: 8,
    ppo: agentPpo,
    start: null,
    encoder: null,
    transfer: false,
    fallback: { decide: ({ allocation }) => allocation },
  });
  const snapshots: SystemSnapshot[] = [];
  const world = new (class extends AwareSystem {
    override step(target: AwareAllocation): SystemSnapshot {
      const snapshot = super.step(target);
      snapshots.push(snapshot);
      return snapshot;
    }
  })(demand, 8);
  const { learner } = agentRun;
  const learn = learner.learn.bind(learner);
  const inputs: Float32Array[] = [];
  learner.learn = (step, ...others) => {
    inputs.push(step.input);
    learn(step, ...others);
  };
  for (let i = 0; i < 2; i++) agentRun.episode(world);
  t.is(inputs.length, 2 * FLASH_EPISODE_STEPS);
  const input = new Float32Array(META_FEATURES.length);
  let rates = NO_RATES;
  inputs.forEach((seen, step) => {
    rates = metaFeatures(aimedStep(snapshots[step]!), rates, input);
    t.deepEqual(seen, input, `step ${step}`);
  });
  agentRun.dispose();
});

const TINY = {
  firstSeed: 11,
  heldOut: some(appsOf('validation'), 6),
  sources: some(appsOf('train'), 1),
  pairs: 1,
  perScenario: 1,
  surveyEpisodes: 2,
  sourceEpisodes: 8,
  adaptationEpisodes: 12,
  beforeEpisodes: 20,
  afterEpisodes: 12,
  bootstrapEpisodes: 16,
  triplets: 50,
  tripletEpisodes: 1,
};

test('a small study on two threads: all contenders, scenarios and a report', async (t) => {
  const kept = new Map<string, string>();
  await playPieces(TINY, awarePieces(TINY), {
    workers: 2,
    meta: null,
    onResult: (piece, result) => void kept.set(pieceKey(piece), JSON.stringify(result)),
  });
  const trainOffline = gatherStudy(TINY, (piece) => JSON.parse(kept.get(pieceKey(piece))!));
  t.deepEqual(
    trainOffline.adaptation.map(({ contender }) => contender),
    [
      'tl',
      'tl-plus',
      'generalist',
      'aware-online',
      'aware',
      'kpa',
      'hpa-vpa',
      'hpa-vpa-slo',
      'clone',
    ],
  );
  t.deepEqual(
    trainOffline.survey.map(({ contender }) => contender),
    ['fixed', 'constant', 'kpa', 'hpa-vpa', 'hpa-vpa-slo', 'zeroed', 'generalist', 'aware'],
  );
  t.deepEqual(
    trainOffline.bootstrap.map(({ contender }) => contender),
    ['scratch', 'bootstrap', 'aware', 'clone', 'hpa-vpa', 'kpa'],
  );
  const report = awareReport(trainOffline, TINY, 'gleaner reproduce aware');
  t.false(/NaN|undefined|Infinity/.test(report), report);
  t.true(report.includes('docs/model-card.md'));
});

const EPISODE = {
  earned: 1,
  learned: 1,
  missed: 0,
  preservation: 1,
  cpu: 1,
  memory: 1,
  phase: 'serving',
  acted: 1,
  updates: 1,
} as const;

test('workloads with one source are a group in the intervals', (t) => {
  const run = (missed: number): AdaptationRun[] => [
    {
      name: 'aware',
      records: [{ ...EPISODE, missed }],
      transitions: [],
      earned: null,
    },
  ];
  // Two sources of two workloads: means .1 and .3, so .2 ± 12.706 x .1.
  const [row] = adaptationRows([
    [run(0.05), run(0.15)],
    [run(0.25), run(0.35)],
  ]);
  t.true(Math.abs(row!.missed.mean - 0.2) < 1e-9);
  t.true(Math.abs(row!.missed.high - 1.4706) < 1e-4, String(row!.missed.high));
  t.is(row!.pairs, 4);
  t.deepEqual(
    row!.missedBySource.map((share) => share.toFixed(9)),
    ['0.100000000', '0.300000000'],
  );
});

test('contenders are compared on the same pairs, with sources as groups', (t) => {
  const row = (episodes: readonly number[]): AdaptationRow =>
    ({ byPair: { episodes }, sources: [0, 0, 1, 1] }) as unknown as AdaptationRow;
  const slow = row([30, 50, 90, 70]);
  const fast = row([10, 10, 20, 20]);
  // By source 40 / 10 and 80 / 20; differences 30 and 60, so 45 ± 12.706 x 15.
  t.true(Math.abs(timesOf(slow, fast, 'episodes').mean - 4) < 1e-9);
  const more = moreThan(slow, fast, 'episodes');
  t.is(more.mean, 45);
  t.true(Math.abs(more.high - (45 + 12.7062 * 15)) < 1e-2, String(more.high));
});

test('an agent that earns little and steadily reaches its own level at once, ours never', (t) => {
  const run = (name: 'tl' | 'aware', earned: number): AdaptationRun => ({
    name,
    records: Array.from({ length: 30 }, () => ({ ...EPISODE, earned })),
    transitions: [],
    earned: null,
  });
  const [tl] = adaptationRows([[[run('tl', 0.8), run('aware', 0.9)]]]);
  // The least is a window of ten episodes.
  t.is(tl!.ownEpisodes.mean, 10);
  t.is(tl!.episodes.mean, 30);
});

test('another first seed plays other activations of other applications', (t) => {
  const apps = appsOf('test');
  const idsOf = (firstSeed: number): number[] =>
    pairsOf(apps, 20, { firstSeed }).map(({ app }) => app.id);
  // A twentieth of 200 applications is 10, so 25 seeds later they lie between the first ones.
  t.is(new Set([...idsOf(FIRST_SEED), ...idsOf(FIRST_SEED + 25)]).size, 40);
  t.deepEqual(
    pairsOf(apps, 3, { firstSeed: 36 }).map(({ seed }) => seed),
    [36, 37, 38],
  );
});

test('the generalist was trained without embeddings, in as many updates', (t) => {
  const shipped = shippedMeta();
  const { base, shape } = unconditionedMeta();
  t.deepEqual([shape, base.counters], [shipped.shape, shipped.base.counters]);
  const { rounds, baseRounds, empty } = withoutEmbedding(metaTraining);
  t.deepEqual([rounds, empty], [0, 1]);
  t.is(baseRounds, shipped.base.counters.updates);
  // Inputs are zeros in all steps, so that no gradient reaches the weights of the embedding.
  const training = { ...withoutEmbedding(metaTraining), baseRounds: 1, applications: 2 };
  const short = trainMetaLearner(engine, some(appsOf('train'), 4), training);
  const before = newActorCritic(
    engine,
    short.shape,
    training.ppo,
    new SeededRandom(training.seed).fork('base'),
  );
  const [hidden] = short.hidden;
  const own = META_FEATURES.length * hidden!;
  const embedded = short.shape.features * hidden!;
  const initial = before.actor.export();
  t.deepEqual(short.base.actor.slice(own, embedded), initial.slice(own, embedded));
  t.notDeepEqual(short.base.actor.slice(0, own), initial.slice(0, own));
  before.dispose();
});

test('a rule is tuned to hold what agents aim at', (t) => {
  const misses = (objective: 'aim' | 'slo'): number =>
    some(appsOf('train'), 12).reduce((sum, app, i) => {
      const demand = demandOf(app);
      const world = new AwareSystem(demand, 50 + i);
      const rule = hpaVpaController(demand, tuned(demand, 9 + i, objective));
      return sum + controlledEpisode(world, rule, null).record.missed;
    }, 0);
  t.true(misses('aim') < misses('slo'));
});

test('the zeroed base-learner sees zeros, whatever the workload is', (t) => {
  const demand = demandOf(appsOf('train')[5]!);
  const controller = hpaVpaController(demand, { target: 0.6, least: 0.512 });
  const { trajectory } = controlledEpisode(new AwareSystem(demand, 1), controller, null);
  const { encoder } = shippedMeta();
  t.deepEqual(new Set(blindEncoder(encoder).embed([trajectory])), new Set([0]));
  t.true(encoder.embed([trajectory]).some((value) => value !== 0));
});

test('a piece that cannot be played fails the study by its name', async (t) => {
  const request = { ...TINY, heldOut: [] };
  const played = playPieces(request, [{ part: 'beginnings', number: 0 }], {
    workers: 1,
    meta: null,
    onResult: () => t.fail('nothing was played'),
  });
  await t.throwsAsync(played, { message: /beginnings-0/ });
});

test('episodes of one application are more alike than those of two very different ones', (t) => {
  const { encoder } = shippedMeta();
  // Of one segment: one waits for a disk and one computes.
  const appOf = (segment: string) => {
    const app = appsOf('test').find(({ segments }) => segments.join() === segment);
    if (app === undefined) throw new Error(`the split holds out no application of ${segment}`);
    return app;
  };
  const [reads, computes] = [appOf('readFile'), appOf('decompress')];
  const embed = (app: typeof reads, seed: number): Float32Array => {
    const demand = demandOf(app);
    const world = new AwareSystem(demand, seed);
    return encoder.embed([
      controlledEpisode(world, hpaVpaController(demand, { target: 0.6, least: 0.512 }), null)
        .trajectory,
    ]);
  };
  t.true(cosine(embed(reads, 1), embed(reads, 2)) > cosine(embed(reads, 1), embed(computes, 1)));
  t.true(
    cosine(embed(computes, 1), embed(computes, 2)) > cosine(embed(computes, 1), embed(reads, 1)),
  );
});
