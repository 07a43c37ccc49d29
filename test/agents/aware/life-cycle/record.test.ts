import test from 'ava';
import {
  DEFAULT_OVERRIDES,
  LIFE_CYCLE_INITIAL,
  lifeCycleSettings,
} from '../../../../agents/aware/index.js';
import {
  GUARD_INITIAL,
  type GuardState,
  guardStep,
} from '../../../../agents/aware/life-cycle/guard.js';
import { endEpisode, type LifeCycleState } from '../../../../agents/aware/life-cycle/life-cycle.js';
import { decodeLifeCycle, encodeLifeCycle } from '../../../../agents/aware/life-cycle/record.js';

const owner = { function: '/_/hello', fallback: 'hpa-vpa', learner: 'simppo' };
const serving: LifeCycleState = {
  ...LIFE_CYCLE_INITIAL,
  phase: 'serving',
  episodes: 61,
  returns: [0.8, 0.81],
  reference: { mean: 0.8, spread: 0.02, episodes: 20 },
};
const guard: GuardState = { fallbackActs: true, steps: 2 };

test('a life cycle that is stored and loaded continues as one that was not', (t) => {
  const text = encodeLifeCycle(owner, { life: serving, guard }, lifeCycleSettings);
  const read = decodeLifeCycle(text, owner, lifeCycleSettings)!;
  t.deepEqual(read, { life: serving, guard });
  const play = (from: LifeCycleState) => {
    let state = from;
    for (let i = 0; i < 40; i++)
      state = endEpisode(
        state,
        { earned: 0.5, estimate: null, steps: 3 },
        DEFAULT_OVERRIDES,
        lifeCycleSettings,
      ).state;
    return state;
  };
  t.deepEqual(play(read.life), play(serving));
});

test('a record of a version that did not count guarded episodes is read', (t) => {
  const text = encodeLifeCycle(owner, { life: serving, guard }, lifeCycleSettings);
  const older = text.replace(/,"guarded":0/, '');
  t.not(older, text);
  t.deepEqual(decodeLifeCycle(older, owner, lifeCycleSettings)?.life, serving);
});

const written = encodeLifeCycle(owner, { life: serving, guard }, lifeCycleSettings);
const corrupted: [string, string][] = [
  ['empty', ''],
  ['half a file', written.slice(0, written.length / 2)],
  ['null', 'null'],
  ['a phase there is not', written.replace('"serving"', '"asleep"')],
  ['a return that is no number', written.replace('[0.8,0.81]', '[0.8,null]')],
  ['more returns than two windows have', written.replace('[0.8,0.81]', `[${Array(21).fill(1)}]`)],
  ['serving without a reference', written.replace(/"reference":\{[^}]*\}/, '"reference":null')],
  ['a negative deviation', written.replace('0.02', '-0.02')],
  ['another function’s', written.replace('/_/hello', '/_/other')],
  ['judged against another fallback', written.replace('hpa-vpa', 'kpa')],
  ['episodes of another length', written.replace('of 100', 'of 10')],
  ['from a later version', written.replace('"v":1', '"v":2')],
];
for (const [title, text] of corrupted)
  test(`refused: ${title}`, (t) => {
    t.not(text, written);
    t.is(decodeLifeCycle(text, owner, lifeCycleSettings), null);
  });

const play = (
  preservations: readonly (number | null)[],
  from: GuardState = GUARD_INITIAL,
): boolean[] => {
  let state = from;
  return preservations.map((one) => {
    state = guardStep(
      state,
      { sloPreservation: one ?? 1, arrivals: one !== null },
      lifeCycleSettings.guard,
    );
    return state.fallbackActs;
  });
};

const guarded: [string, (number | null)[], boolean[]][] = [
  ['three low steps give the step to the fallback', [0.79, 0.1, 0.79], [false, false, true]],
  ['.8 itself is not low', [0.8, 0.8, 0.8, 0.8], [false, false, false, false]],
  [
    'low steps must follow each other',
    [0.1, 0.1, 1, 0.1, 0.1],
    [false, false, false, false, false],
  ],
  [
    'three good ones give it back',
    [0.1, 0.1, 0.1, 1, 1, 0.8],
    [false, false, true, true, true, false],
  ],
  [
    'and no fewer',
    [0.1, 0.1, 0.1, 1, 1, 0.1, 1, 1],
    [false, false, true, true, true, true, true, true],
  ],
  [
    'steps without arrivals neither count nor break a row',
    [0.1, null, 0.1, null, 0.1],
    [false, false, false, false, true],
  ],
  ['what is no number is low', [Number.NaN, Number.NaN, Number.NaN], [false, false, true]],
];
for (const [title, preservations, acts] of guarded)
  test(`the guard: ${title}`, (t) => {
    t.deepEqual(play(preservations), acts);
  });

test('an agent that alternates between low and good is never changed with every step', (t) => {
  const changes = play(Array.from({ length: 300 }, (_, i) => (i % 2 === 0 ? 0.5 : 1)));
  t.deepEqual(new Set(changes), new Set([false]));
});

test('thresholds are reachable for any episode length, as returns are means per step', (t) => {
  // The published 100 and 120 cannot be met by episodes of 10 steps. Here ten steps or a hundred of
  // reward .8 are the same return.
  let state: LifeCycleState = { ...LIFE_CYCLE_INITIAL, phase: 'online' };
  for (let i = 0; i < 30; i++)
    state = endEpisode(state, { earned: 0.8, estimate: null, steps: 1 }, DEFAULT_OVERRIDES, {
      ...lifeCycleSettings,
      episodeSteps: 10,
    }).state;
  t.is(state.phase, 'serving');
});
