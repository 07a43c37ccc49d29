import { LifeCycleSettingsError } from './errors.js';

/** When the fallback takes a step of an agent that is online. */
export interface GuardSettings {
  /** SLO preservation below this is low; exactly this is not. */
  readonly low: number;
  /**
   * So many low steps in a row, and the fallback acts; so many that are not, and the agent acts
   * again.
   */
  readonly steps: number;
}

/**
 * simppo-aware.md §3.3 and §3.4. Thresholds are shares of what was earned on this very function: no
 * absolute return means anything on another.
 */
export interface LifeCycleSettings {
  /** Steps with arrivals of one episode. */
  readonly episodeSteps: number;
  /**
   * Episodes of one window. Windows that are held together lie next to each other: no episode
   * counts twice.
   */
  readonly window: number;
  /** offline → online: the agent's estimate is at least this share of what the fallback earned. */
  readonly onlineShare: number;
  /**
   * online → serving: at least this share of the best window; serving → online: below it (or as far
   * above) of what the converged agent earned.
   */
  readonly servingShare: number;
  /**
   * online → offline: each of the last windows earned less than this share of what the fallback
   * did. Exploring costs a little, never this much.
   */
  readonly offlineShare: number;
  /** T_var: largest standard deviation of a window, as a share of `maximum`. */
  readonly spreadShare: number;
  /** Largest return there can be; returns are mean rewards a step. */
  readonly maximum: number;
  /**
   * Windows, one after the other, that must agree before serving begins, or ends; looked at after
   * every episode.
   */
  readonly agreeingWindows: number;
  /**
   * A mean nearer to its reference than so many standard errors says nothing, however small the
   * share above.
   */
  readonly standardErrors: number;
  /**
   * Episodes that the reference of a serving agent rests on at most; after that it stays, so that
   * no slow fall goes unseen.
   */
  readonly referenceEpisodes: number;
  readonly guard: GuardSettings;
}

export const lifeCycleSettings: LifeCycleSettings = {
  // AWARE's cluster (simppo-aware.md §1.8).
  episodeSteps: 100,
  // The published artifact's window; 2.6 % below converged, a deviation of 5 % of the maximum
  // (§3.4).
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

/**
 * Throws `GLN_LIFECYCLE_SETTINGS`; also where a threshold could never be met (simppo-aware.md §7.1
 * item 4).
 */
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
