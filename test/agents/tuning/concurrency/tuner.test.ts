import test from 'ava';
import { ConcurrencySettingsError } from '../../../../agents/tuning/concurrency/errors.js';
import { sampleOf } from '../../../../agents/tuning/concurrency/sample.js';
import type { TunerDecision, TunerView } from '../../../../agents/tuning/concurrency/tuner.js';
import {
  concurrencyTuner,
  constantLimit,
  hillClimbing,
  type LimitSearch,
  Q_DEFAULT,
  qLearning,
  type Sample,
  TUNER_DEFAULT,
} from '../../../../agents/tuning/index.js';
import type { Millis } from '../../../../config/index.js';
import { SeededRandom } from '../../../../config/index.js';
import { observation } from '../../../support/observations.js';
import { latencies } from '../../managers/play.js';
import { sample } from './samples.js';

/** Always one up, and remembers what it was shown. */
const shown: number[] = [];
const upward: LimitSearch<number> = {
  ...(constantLimit as unknown as LimitSearch<number>),
  initialState: () => 0,
  next: (asked, { throughput }, { place, maskAt }) => {
    shown.push(throughput);
    return { state: asked + 1, action: maskAt(place)[2] ? 2 : 1 };
  },
};

/** One step every 10 s; each step a sample, or a view. */
function steps<State>(search: LimitSearch<State>, samples: readonly (Sample | TunerView)[]) {
  const tuner = concurrencyTuner(search, TUNER_DEFAULT);
  const random = new SeededRandom(1);
  let state = tuner.initialState();
  const decisions: TunerDecision[] = [];
  samples.forEach((given, i) => {
    const view =
      'sample' in given
        ? given
        : { sample: given, allowed: { least: 1, most: 500 }, frozen: false };
    const next = tuner.decide(state, view, (i * 10_000) as Millis, random);
    state = next.state;
    decisions.push(next.decision);
  });
  return { state, decisions, said: decisions.map(({ limit, reason }) => `${reason} ${limit}`) };
}

test('a limit is held 30 s and 100 activations after it was first seen in force', (t) => {
  // Seen at 0 s; at 20 s there are 100 activations, at 30 s both: asked.
  t.deepEqual(steps(upward, [sample(90), sample(90), sample(90), sample(90)]).said, [
    'settling 90',
    'holding 90',
    'holding 90',
    'searched 110',
  ]);
  // 24 each: 96 after 40 s, 120 after 50 s.
  const few = { activations: 24 };
  t.is(steps(upward, Array(6).fill(sample(90, few))).said.indexOf('searched 110'), 5);
});

test('the step in which a limit is first seen counts for nothing', (t) => {
  shown.length = 0;
  steps(upward, [sample(90, { activations: 9999 }), sample(90), sample(90), sample(90)]);
  // 3 x 50 in 30 s.
  t.deepEqual(shown, [5]);
});

test('failed activations are no throughput', (t) => {
  shown.length = 0;
  steps(upward, [sample(90), ...Array(3).fill(sample(90, { failures: 20 }))]);
  // 3 x 30 in 30 s.
  t.deepEqual(shown, [3]);
});

test('a target is repeated until it is in force; another client’s limit ends it', (t) => {
  const slow = [
    sample(90),
    sample(90),
    sample(90),
    sample(90),
    sample(90),
    sample(90),
    sample(110),
    sample(110),
  ];
  t.deepEqual(steps(upward, slow).said.slice(3), [
    'searched 110',
    'holding 110',
    'holding 110',
    'settling 110',
    'holding 110',
  ]);
  t.deepEqual(steps(upward, [...slow.slice(0, 5), sample(50), sample(50)]).said.slice(3), [
    'searched 110',
    'holding 110',
    'settling 50',
    'holding 50',
  ]);
});

test('while the agent retrains nothing changes, and the window starts again after it', (t) => {
  const frozen: TunerView = { sample: sample(90), allowed: { least: 1, most: 500 }, frozen: true };
  const { said, state } = steps(upward, [
    sample(90),
    sample(90),
    sample(90),
    frozen,
    ...Array(20).fill(frozen),
    sample(90),
    sample(90),
    sample(90),
  ]);
  t.deepEqual([...new Set(said.slice(3, 24))], ['frozen 90']);
  t.deepEqual(said.slice(24), ['settling 90', 'holding 90', 'holding 90']);
  t.is(state.search, 0);
});

test('a limit that demand does not fill is left alone', (t) => {
  // Half is enough, less is not: .49 of the room.
  const idle = sample(90, { busy: 4900 * 90 });
  t.is(steps(upward, Array(4).fill(idle)).said[3], 'unbound 90');
  t.is(steps(upward, Array(4).fill(sample(90, { busy: 5000 * 90 }))).said[3], 'searched 110');
});

test('a limit outside of the grid is moved into it; refused ones are no targets', (t) => {
  t.is(steps(upward, Array(4).fill(sample(100))).said[3], 'begun 90');
  const most = (limit: number): TunerView => ({
    sample: sample(limit),
    allowed: { least: 1, most: 60 },
    frozen: false,
  });
  t.is(steps(upward, Array(4).fill(most(50))).said[3], 'searched 50');
  const stock: TunerView = { sample: sample(1), allowed: { least: 1, most: 1 }, frozen: false };
  t.deepEqual(new Set(steps(upward, Array(9).fill(stock)).said), new Set(['disallowed 1']));
});

test('samples of several hosts add up', (t) => {
  shown.length = 0;
  const tuner = concurrencyTuner(upward, TUNER_DEFAULT);
  const random = new SeededRandom(1);
  let state = tuner.initialState();
  for (const now of [0, 10_000, 10_000, 20_000, 20_000, 30_000, 30_000]) {
    const view = { sample: sample(90), allowed: { least: 1, most: 500 }, frozen: false };
    ({ state } = tuner.decide(state, view, now as Millis, random));
  }
  // Asked at the first sample of 30 s: five of 50 in 30 s.
  t.deepEqual(shown, [250 / 30]);
});

test('figures that cannot be one change nothing', (t) => {
  for (const wrong of [
    { cpu: Number.NaN },
    { activations: -1 },
    { busy: Number.POSITIVE_INFINITY },
    { limit: 0 },
    { limit: 1.5 },
  ]) {
    const { said } = steps(upward, [sample(90), sample(90), sample(90), sample(90, wrong)]);
    t.is(said[3], `invalid ${wrong.limit ?? 90}`);
  }
});

test('after a restart it goes on from the limit in force and from what was learned', (t) => {
  const search = qLearning(Q_DEFAULT);
  const tuner = concurrencyTuner(search, TUNER_DEFAULT);
  const { state } = steps(search, Array(12).fill(sample(150)));
  const again = tuner.initialState(state.search);
  t.deepEqual(again, { search: state.search, window: null, targetLimit: null });
  const view = { sample: sample(150), allowed: { least: 1, most: 500 }, frozen: false };
  t.is(tuner.decide(again, view, 0 as Millis, new SeededRandom(1)).decision.limit, 150);
});

test('hill climbing turns when throughput falls and at the ends', (t) => {
  const play = (throughputs: readonly number[], from: number): number[] => {
    let state = hillClimbing.initialState();
    let place = from;
    return throughputs.map((throughput) => {
      const next = hillClimbing.next(
        state,
        { limit: 10 + 20 * place, throughput, cpu: 0, memory: 0 },
        { grid: TUNER_DEFAULT.grid, place, maskAt: (at) => [at > 0, true, at < 15] },
        new SeededRandom(1),
      );
      state = next.state;
      place += next.action - 1;
      return place;
    });
  };
  t.deepEqual(play([10, 11, 12, 11, 12, 11], 4), [5, 6, 7, 6, 5, 6]);
  t.deepEqual(play([10, 11, 12], 14), [15, 14, 13]);
});

test('a constant limit stays', (t) => {
  t.is(steps(constantLimit, Array(4).fill(sample(90))).said[3], 'searched 90');
});

test('an observation becomes a sample: shares of user limits and of container time', (t) => {
  // 20 activations of 100 ms in two containers, 10 s: 2 s of the 2 x 5 x 10 s that a limit of 5 has
  // room for; 400 of 1000 mc, 100 of 256 MiB.
  t.deepEqual(sampleOf(observation({ ...latencies(20, 100), failures: 3, oomKills: 2 }), 5), {
    limit: 5,
    span: 10_000,
    activations: 20,
    failures: 3,
    oomKills: 2,
    busy: 2000,
    capacity: 100_000,
    cpu: 0.4,
    memory: 100 / 256,
  });
});

test('tuner settings that do not go together are refused by name', (t) => {
  const { grid } = TUNER_DEFAULT;
  for (const wrong of [
    { grid: { ...grid, most: 300 } },
    { grid: { ...grid, least: 0 } },
    { grid: { ...grid, step: 0 } },
    { hold: { time: -1, activations: 100 } },
    { hold: { time: 0, activations: 0 } },
    { bindingShare: 2 },
  ])
    t.throws(() => concurrencyTuner(constantLimit, { ...TUNER_DEFAULT, ...wrong }), {
      instanceOf: ConcurrencySettingsError,
    });
});
