import test from 'ava';
import {
  DEFAULT_OVERRIDES,
  LIFE_CYCLE_INITIAL,
  LIFE_CYCLE_RUN_INITIAL,
  type LifeCyclePhase,
  type LifeCycleRunState,
  type LifeCycleTransition,
  lifeCycleSettings,
} from '../../../../agents/aware/index.js';
import { lifeCycleRunStep } from '../../../../agents/aware/life-cycle/life-cycle-run.js';

const inPhase = (phase: LifeCyclePhase): LifeCycleRunState => ({
  ...LIFE_CYCLE_RUN_INITIAL,
  life: { ...LIFE_CYCLE_INITIAL, phase },
});

/** Episodes of four steps, of which each is by the agent or by the fallback. */
function played(
  from: LifeCycleRunState,
  steps: readonly (readonly [by: 'agent' | 'fallback', reward: number])[],
): LifeCycleRunState {
  const settings = { ...lifeCycleSettings, episodeSteps: 4 };
  let run = from;
  for (const [by, reward] of steps) {
    const outcome = { reward, sloPreservation: 1, arrivals: true, byAgent: by === 'agent' };
    run = lifeCycleRunStep(run, outcome, () => null, DEFAULT_OVERRIDES, settings).state;
  }
  return run;
}

test('online an episode earns what the agent earned in its own steps, not the fallback', (t) => {
  const { life } = played(inPhase('online'), [
    ['agent', 0.25],
    ['agent', 0.5],
    ['fallback', 1],
    ['fallback', 1],
  ]);
  // (.25 + .5) / 2.
  t.deepEqual(life.returns, [0.375]);
});

test('an online episode in which the fallback took every step is not judged', (t) => {
  const run = played(
    inPhase('online'),
    Array.from({ length: 4 }, () => ['fallback', 1] as const),
  );
  t.deepEqual(run.life.returns, []);
  t.is(run.life.episodes, 0);
  t.is(run.steps, 0, 'the next episode has begun');
});

test('an agent whose guard takes two windows in a row whole goes offline, where it learns', (t) => {
  const settings = { ...lifeCycleSettings, episodeSteps: 4, window: 2, agreeingWindows: 2 };
  const transitions: LifeCycleTransition[] = [];
  let run = inPhase('online');
  const episode = (byAgent: readonly boolean[]): void => {
    for (const by of byAgent) {
      const outcome = { reward: 1, sloPreservation: 0.1, arrivals: true, byAgent: by };
      const step = lifeCycleRunStep(run, outcome, () => null, DEFAULT_OVERRIDES, settings);
      run = step.state;
      transitions.push(...step.transitions);
    }
  };
  const guarded = (): void => episode([false, false, false, false]);
  for (let i = 0; i < 3; i++) guarded();
  // One step of the agent: the row begins again.
  episode([false, true, false, false]);
  for (let i = 0; i < 3; i++) guarded();
  t.deepEqual(transitions, []);
  guarded();
  t.is(run.life.phase, 'offline');
  t.like(transitions[0], { from: 'online', to: 'offline', window: null, threshold: null });
  t.regex(transitions[0]!.reason, /guard let the fallback take every step, 4 episodes/);
});

test('offline an episode earns what the fallback earned', (t) => {
  // The first step was chosen by the agent before it was sent offline.
  const { life } = played(inPhase('offline'), [
    ['agent', 0],
    ['fallback', 0.5],
    ['fallback', 1],
    ['fallback', 0.75],
  ]);
  // (.5 + 1 + .75) / 3.
  t.deepEqual(life.returns, [0.75]);
});
