import type { LifeCycleSettings } from './settings.js';
import { bandAround, pooled, shareOf, type WindowFigures, windowFigures } from './window.js';

export const PHASES = ['initialized', 'offline', 'online', 'serving'] as const;
export type LifeCyclePhase = (typeof PHASES)[number];

/** Where one function stands. Plain, small and all there is: it can rest elsewhere and go on. */
export interface LifeCycleState {
  readonly phase: LifeCyclePhase;
  /** Episodes that were judged, ever and in this phase. */
  readonly episodes: number;
  readonly inPhase: number;
  /** What was earned in the newest episodes of this phase, as many as its windows need. */
  readonly returns: readonly number[];
  /** Offline: the agent's own estimates, of the same episodes. */
  readonly estimates: readonly number[];
  /** What the fallback earned here when it last acted for a window; null: unknown in this world. */
  readonly fallback: WindowFigures | null;
  /** Online: the best window's mean so far. */
  readonly best: number | null;
  /** Serving: what the converged agent earned. */
  readonly reference: WindowFigures | null;
  /**
   * How often it came back from online, worse than the fallback: each time it stays offline for
   * twice as long.
   */
  readonly demotions: number;
}

/** No longer than so many doublings. */
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
};

/** One episode that has ended. */
export interface Episode {
  /** Mean reward a step of whoever acted. */
  readonly earned: number;
  /**
   * Offline: what the agent would have earned, by replay in a fitted model; null: there is no
   * estimate yet.
   */
  readonly estimate: number | null;
  /** Calls in it: an episode without any says nothing. */
  readonly arrivals: number;
}

/** What the operator asked for this function. */
export interface LifeCycleOverrides {
  /** Learn from the fallback first; without it, it goes online at once. */
  readonly bootstrap: boolean;
  /** High stakes: the fallback acts, whatever the agent earns. */
  readonly heldOffline: boolean;
}

export const DEFAULT_OVERRIDES: LifeCycleOverrides = { bootstrap: true, heldOffline: false };

export interface LifeCycleTransition {
  readonly from: LifeCyclePhase;
  readonly to: LifeCyclePhase;
  /** Judged episodes until then. */
  readonly episode: number;
  /** What decided, and what it was held against; null where the operator decided. */
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

/** Before the first step of an episode: the operator's wish counts at once. */
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

/** After the last step of an episode. A pure function; the same episodes, the same transitions. */
export function endEpisode(
  before: LifeCycleState,
  { earned, estimate, arrivals }: Episode,
  { heldOffline }: LifeCycleOverrides,
  settings: LifeCycleSettings,
): LifeCycleStep {
  // What is not finite is no return (field-notes A3-13).
  if (!(arrivals > 0) || !Number.isFinite(earned)) return { state: before, transition: null };
  const { phase } = before;
  const { window, agreeingWindows } = settings;
  const returns = [...before.returns, earned].slice(
    -window * (phase === 'offline' ? 1 : agreeingWindows),
  );
  const state: LifeCycleState = {
    ...before,
    episodes: before.episodes + 1,
    inPhase: before.inPhase + 1,
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

/** The last windows, the newest last: next to each other, so that an episode is in one of them. */
function windowsOf({ returns }: LifeCycleState, { window }: LifeCycleSettings): WindowFigures[] {
  const windows: WindowFigures[] = [];
  for (let end = returns.length; end >= window; end -= window)
    windows.unshift(windowFigures(returns.slice(end - window, end)));
  return windows;
}

/**
 * OFFLINE → ONLINE if mean(estimates) >= share of what the fallback earned: the agent's estimate,
 * never the fallback's own returns (§3.3).
 */
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
  const reason = `the agent's estimate ${text(agent.mean)} reaches ${text(threshold)}, ${onlineShare} of the fallback's ${text(fallback.mean)}`;
  return moved(state, 'online', reason, agent, threshold);
}

/**
 * ONLINE → OFFLINE if the last windows all earned clearly less than the fallback. ONLINE → SERVING
 * if mean >= T_serving and deviation <= T_var, and what is published leaves open: the mean no
 * longer moves (§1.9), and is no less than the fallback's (field-notes A5-10).
 */
function online(now: LifeCycleState, settings: LifeCycleSettings): LifeCycleStep {
  const { spreadShare, maximum, onlineShare, offlineShare, agreeingWindows } = settings;
  const windows = windowsOf(now, settings);
  const newest = windows.at(-1)!;
  const best = Math.max(newest.mean, now.best ?? Number.NEGATIVE_INFINITY);
  const state = { ...now, best };
  if (windows.length < agreeingWindows) return { state, transition: null };
  // Worse than nothing: back to watching, for longer than before (field-notes A5-10). The
  // publication has no way back.
  const least =
    state.fallback === null ? Number.NEGATIVE_INFINITY : shareOf(state.fallback.mean, offlineShare);
  if (windows.every(({ mean }) => mean < least)) {
    const reason = `mean ${text(newest.mean)} below ${text(least)}, ${offlineShare} of what the fallback earned, ${agreeingWindows} windows`;
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
  const reason = `mean ${text(newest.mean)} reaches ${text(threshold)}, deviation ${text(newest.spread)} within ${text(largest)}, ${agreeingWindows} windows`;
  return moved(state, 'serving', reason, newest, threshold, { reference: windows.reduce(pooled) });
}

/**
 * SERVING → ONLINE if mean < T_serving *or* deviation > T_var (never *and*: simppo-aware.md §7.1
 * item 10), or the mean is as far above.
 */
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
  const reason = `mean ${text(newest.mean)}, deviation ${text(newest.spread)}: outside ${text(low)} to ${text(high)} or above ${text(largest)}, ${agreeingWindows} windows`;
  // Another world: what was best, and what the fallback earned, was of the old one.
  return moved(now, 'online', reason, newest, threshold, { fallback: null, demotions: 0 });
}

/** An operator's `retrain`. */
export function retrain(state: LifeCycleState): LifeCycleStep {
  if (state.phase !== 'serving') return { state, transition: null };
  return moved(state, 'online', 'told to retrain', null, null, { fallback: null });
}

/** Who acts in a phase when no guard says otherwise. */
export const agentActs = (phase: LifeCyclePhase): boolean =>
  phase === 'online' || phase === 'serving';
