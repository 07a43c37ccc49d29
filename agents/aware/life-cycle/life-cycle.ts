import type { LifeCycleSettings } from './settings.js';
import { bandAround, pooled, shareOf, type WindowFigures, windowFigures } from './window.js';

export const PHASES = ['initialized', 'offline', 'online', 'serving'] as const;
export type LifeCyclePhase = (typeof PHASES)[number];

/** One function's position in its life cycle; plain data, so that it can be stored and resumed. */
export interface LifeCycleState {
  readonly phase: LifeCyclePhase;
  /** Judged episodes, in total and in this phase. */
  readonly episodes: number;
  readonly inPhase: number;
  /** Returns of this phase's newest episodes, as many as its windows need. */
  readonly returns: readonly number[];
  /** Offline: the agent's estimated returns in the same episodes. */
  readonly estimates: readonly number[];
  /** The fallback's last full window; null: unknown since the workload changed. */
  readonly fallback: WindowFigures | null;
  /** Online: the best window's mean so far. */
  readonly best: number | null;
  /** Serving: what the converged agent earned. */
  readonly reference: WindowFigures | null;
  /** How often it was worse than the fallback online; each time doubles its next offline phase. */
  readonly demotions: number;
  /** Online: episodes in a row in which the guard let the fallback take every step. */
  readonly guarded: number;
}

/** The offline phase doubles at most this often. */
const DOUBLINGS_MAX = 5;

export const LIFE_CYCLE_INITIAL: LifeCycleState = {
  phase: 'initialized',
  episodes: 0,
  inPhase: 0,
  returns: [],
  estimates: [],
  fallback: null,
  best: null,
  reference: null,
  demotions: 0,
  guarded: 0,
};

export interface JudgedEpisode {
  /** Mean reward per step of the agent; offline: of the fallback. */
  readonly earned: number;
  /** Offline: the agent's return by replay in a fitted model; null: no estimate yet. */
  readonly estimate: number | null;
  /** Steps with activations that `earned` is the mean of; without any it is not judged. */
  readonly steps: number;
}

/** The operator's settings for one function. */
export interface LifeCycleOverrides {
  /** Learn from the fallback first; false: go online at once. */
  readonly bootstrap: boolean;
  /** The fallback always acts, however good the agent is. */
  readonly heldOffline: boolean;
}

export const DEFAULT_OVERRIDES: LifeCycleOverrides = { bootstrap: true, heldOffline: false };

export interface LifeCycleTransition {
  readonly from: LifeCyclePhase;
  readonly to: LifeCyclePhase;
  /** Judged episodes until then. */
  readonly episode: number;
  /** The window that decided and its threshold; null if the operator or the guard decided. */
  readonly window: WindowFigures | null;
  readonly threshold: number | null;
  /** For people, with the figures. */
  readonly reason: string;
}

export interface LifeCycleStep {
  readonly state: LifeCycleState;
  readonly transition: LifeCycleTransition | null;
}

const text = (value: number): string => value.toFixed(4);

function moved(
  state: LifeCycleState,
  to: LifeCyclePhase,
  reason: string,
  window: WindowFigures | null,
  threshold: number | null,
  kept: Partial<LifeCycleState> = {},
): LifeCycleStep {
  const { phase: from, episodes, fallback, demotions } = state;
  return {
    state: { ...LIFE_CYCLE_INITIAL, phase: to, episodes, fallback, demotions, ...kept },
    transition: { from, to, episode: episodes, window, threshold, reason },
  };
}

/** Before the first step of an episode: the operator's overrides apply at once. */
export function beginEpisode(
  state: LifeCycleState,
  { bootstrap, heldOffline }: LifeCycleOverrides,
): LifeCycleStep {
  const { phase } = state;
  if (heldOffline && phase !== 'offline')
    return moved(state, 'offline', 'held offline by the operator', null, null);
  if (phase !== 'initialized') return { state, transition: null };
  return bootstrap
    ? moved(state, 'offline', 'learns from the fallback first', null, null)
    : moved(state, 'online', 'bootstrapping is off', null, null);
}

export function endEpisode(
  before: LifeCycleState,
  { earned, estimate, steps }: JudgedEpisode,
  { heldOffline }: LifeCycleOverrides,
  settings: LifeCycleSettings,
): LifeCycleStep {
  // One NaN would stay in the window's mean and block every later transition.
  if (!Number.isFinite(earned)) return { state: before, transition: null };
  if (!(steps > 0)) return unjudged(before, settings);
  const { phase } = before;
  const { window, agreeingWindows } = settings;
  const returns = [...before.returns, earned].slice(
    -window * (phase === 'offline' ? 1 : agreeingWindows),
  );
  const state: LifeCycleState = {
    ...before,
    episodes: before.episodes + 1,
    inPhase: before.inPhase + 1,
    guarded: 0,
    returns,
    estimates:
      phase === 'offline' && estimate !== null && Number.isFinite(estimate)
        ? [...before.estimates, estimate].slice(-window)
        : before.estimates,
  };
  if (phase === 'offline') return offline(state, heldOffline, settings);
  if (returns.length < window) return { state, transition: null };
  if (phase === 'online') return online(state, settings);
  return phase === 'serving' ? serving(state, settings) : { state, transition: null };
}

/**
 * An episode without a step that its phase judges. Online, an agent that its guard never lets act
 * does not learn either: after two windows it goes offline, where it learns from the fallback.
 */
function unjudged(before: LifeCycleState, settings: LifeCycleSettings): LifeCycleStep {
  if (before.phase !== 'online') return { state: before, transition: null };
  const guarded = before.guarded + 1;
  const state = { ...before, guarded };
  if (guarded < settings.window * settings.agreeingWindows) return { state, transition: null };
  const reason = `its guard let the fallback take every step, ${guarded} episodes`;
  return moved(state, 'offline', reason, null, null);
}

/** The last windows, the newest last; they are adjacent, so no episode counts twice. */
function windowsOf({ returns }: LifeCycleState, { window }: LifeCycleSettings): WindowFigures[] {
  const windows: WindowFigures[] = [];
  for (let end = returns.length; end >= window; end -= window)
    windows.unshift(windowFigures(returns.slice(end - window, end)));
  return windows;
}

/** By the agent's estimates, as the returns of this phase are the fallback's. */
function offline(
  now: LifeCycleState,
  held: boolean,
  { window, onlineShare }: LifeCycleSettings,
): LifeCycleStep {
  if (now.returns.length < window) return { state: now, transition: null };
  const fallback = windowFigures(now.returns);
  const state = { ...now, fallback };
  const stay = window * 2 ** Math.min(state.demotions, DOUBLINGS_MAX);
  if (held || state.inPhase < stay || state.estimates.length < window)
    return { state, transition: null };
  const agent = windowFigures(state.estimates);
  const threshold = shareOf(fallback.mean, onlineShare);
  if (!(agent.mean >= threshold)) return { state, transition: null };
  const reason =
    `the agent's estimate ${text(agent.mean)} reaches ${text(threshold)}, ` +
    `${onlineShare} of the fallback's ${text(fallback.mean)}`;
  return moved(state, 'online', reason, agent, threshold);
}

/**
 * To OFFLINE if the last windows all earned clearly less than the fallback. To SERVING by T_serving
 * and T_var [AWARE], and if the mean no longer moves and is no less than the fallback's.
 */
function online(now: LifeCycleState, settings: LifeCycleSettings): LifeCycleStep {
  const { spreadShare, maximum, onlineShare, offlineShare, agreeingWindows } = settings;
  const windows = windowsOf(now, settings);
  const newest = windows.at(-1)!;
  const best = Math.max(newest.mean, now.best ?? Number.NEGATIVE_INFINITY);
  const state = { ...now, best };
  if (windows.length < agreeingWindows) return { state, transition: null };
  // [AWARE] has no transition back, so an agent that is worse than the fallback would keep acting.
  const least =
    state.fallback === null ? Number.NEGATIVE_INFINITY : shareOf(state.fallback.mean, offlineShare);
  if (windows.every(({ mean }) => mean < least)) {
    const reason =
      `mean ${text(newest.mean)} below ${text(least)}, ` +
      `${offlineShare} of what the fallback earned, ${agreeingWindows} windows`;
    return moved(state, 'offline', reason, newest, least, { demotions: state.demotions + 1 });
  }
  const threshold = bandAround({ ...newest, mean: best }, settings).low;
  const floor =
    state.fallback === null ? Number.NEGATIVE_INFINITY : shareOf(state.fallback.mean, onlineShare);
  const { low, high } = bandAround(windows[0]!, settings);
  const largest = spreadShare * maximum;
  const good = ({ mean, spread }: WindowFigures): boolean =>
    mean >= threshold && mean >= floor && mean >= low && mean <= high && spread <= largest;
  if (!windows.every(good)) return { state, transition: null };
  const reason =
    `mean ${text(newest.mean)} reaches ${text(threshold)}, ` +
    `deviation ${text(newest.spread)} within ${text(largest)}, ${agreeingWindows} windows`;
  return moved(state, 'serving', reason, newest, threshold, { reference: windows.reduce(pooled) });
}

/** `or`, because the artifact's `and` misses most changes [AWARE artifact]. */
function serving(now: LifeCycleState, settings: LifeCycleSettings): LifeCycleStep {
  const { spreadShare, maximum, agreeingWindows, window, referenceEpisodes } = settings;
  const windows = windowsOf(now, settings);
  const newest = windows.at(-1)!;
  const reference = now.reference ?? newest;
  const { low, high } = bandAround(reference, settings);
  const largest = spreadShare * maximum;
  const bad = ({ mean, spread }: WindowFigures): boolean =>
    mean < low || mean > high || spread > largest;
  if (windows.length < agreeingWindows || !windows.every(bad)) {
    const learns =
      !bad(newest) && now.inPhase % window === 0 && reference.episodes < referenceEpisodes;
    return {
      state: { ...now, reference: learns ? pooled(reference, newest) : reference },
      transition: null,
    };
  }
  const threshold = newest.mean > high ? high : low;
  const reason =
    `mean ${text(newest.mean)}, deviation ${text(newest.spread)}: outside ${text(low)} ` +
    `to ${text(high)} or above ${text(largest)}, ${agreeingWindows} windows`;
  // The workload has changed: the best window and the fallback's returns describe the old one.
  return moved(now, 'online', reason, newest, threshold, { fallback: null, demotions: 0 });
}

export function retrain(state: LifeCycleState): LifeCycleStep {
  if (state.phase !== 'serving') return { state, transition: null };
  return moved(state, 'online', 'told to retrain', null, null, { fallback: null });
}

/** Whether the agent acts in a phase, if no guard objects. */
export const agentActs = (phase: LifeCyclePhase): boolean =>
  phase === 'online' || phase === 'serving';
