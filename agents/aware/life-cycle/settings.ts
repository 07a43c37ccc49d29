import { LifeCycleSettingsError } from './errors.js';

/** When the fallback takes over from an online agent. */
export interface GuardSettings {
  /** SLO preservation below this is low; exactly this is not. */
  readonly low: number;
  /** After this many low steps in a row the fallback acts; after as many good ones the agent. */
  readonly steps: number;
}

/**
 * Thresholds of the life cycle [AWARE]. They are shares of returns on the same function, as
 * absolute returns differ between functions.
 */
export interface LifeCycleSettings {
  /** Steps with arrivals of one episode. */
  readonly episodeSteps: number;
  /** Episodes of one window. Compared windows are adjacent: no episode counts twice. */
  readonly window: number;
  /** offline → online: the agent's estimate is at least this share of the fallback's return. */
  readonly onlineShare: number;
  /**
   * online → serving: at least this share of the best window; serving → online: below this share of
   * the converged return, or as far above it.
   */
  readonly servingShare: number;
  /**
   * online → offline: each of the last windows earned less than this share of the fallback's
   * return. Exploration costs less than this.
   */
  readonly offlineShare: number;
  /** T_var of [AWARE]: largest standard deviation of a window, as a share of `maximum`. */
  readonly spreadShare: number;
  /** Largest possible return; returns are mean rewards per step. */
  readonly maximum: number;
  /** Adjacent windows that must agree before serving begins or ends. */
  readonly agreeingWindows: number;
  /** A mean within this many standard errors of its reference counts as unchanged. */
  readonly standardErrors: number;
  /**
   * The reference of a serving agent averages at most this many episodes and is constant then, so
   * that a slow decline is detected.
   */
  readonly referenceEpisodes: number;
  readonly guard: GuardSettings;
}

export const lifeCycleSettings: LifeCycleSettings = {
  // Episode length on AWARE's cluster [AWARE].
  episodeSteps: 100,
  // Window of [AWARE artifact]; 2.6 % below converged and a deviation of 5 % are from [AWARE].
  window: 10,
  onlineShare: 1,
  servingShare: 0.974,
  offlineShare: 0.95,
  spreadShare: 0.05,
  maximum: 1,
  agreeingWindows: 2,
  standardErrors: 3,
  referenceEpisodes: 50,
  guard: { low: 0.8, steps: 3 },
};

/** @throws LifeCycleSettingsError, also if a threshold could never be met */
export function checkLifeCycleSettings(settings: LifeCycleSettings): void {
  const check = (ok: boolean, detail: string): void => {
    if (!ok) throw new LifeCycleSettingsError(detail);
  };
  const { episodeSteps, window, agreeingWindows, referenceEpisodes, guard } = settings;
  for (const [name, value] of Object.entries({
    episodeSteps,
    agreeingWindows,
    referenceEpisodes,
    'guard.steps': guard.steps,
  }))
    check(Number.isInteger(value) && value >= 1, `${name} ${value} is not a positive integer`);
  check(Number.isInteger(window) && window >= 2, `a window of ${window} episodes has no spread`);
  check(
    settings.onlineShare > 0 && settings.onlineShare <= 2,
    `onlineShare ${settings.onlineShare} is not in 0..2`,
  );
  for (const name of ['servingShare', 'offlineShare', 'spreadShare'] as const)
    check(
      settings[name] > 0 && settings[name] < 1,
      `${name} ${settings[name]} is not between 0 and 1`,
    );
  check(
    settings.maximum > 0 && Number.isFinite(settings.maximum),
    `a largest return of ${settings.maximum}`,
  );
  check(settings.standardErrors >= 0, `standardErrors ${settings.standardErrors}`);
  check(guard.low > 0 && guard.low <= 1, `guard.low ${guard.low} is not in 0..1`);
}
