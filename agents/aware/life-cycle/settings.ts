/** When the fallback takes over from an online agent. */
export interface GuardSettings {
  /** SLO preservation below this is low; exactly this is not. */
  readonly low: number;
  /** After this many low steps in a row the fallback acts; after as many good ones the agent. */
  readonly steps: number;
}

/** Thresholds of the life cycle [AWARE], as shares of returns on the same function. */
export interface LifeCycleSettings {
  /** Steps with arrivals of one episode. */
  readonly episodeSteps: number;
  /** Episodes of one window. Compared windows are adjacent: no episode counts twice. */
  readonly window: number;
  /** offline → online: the agent's estimate is at least this share of the fallback's return. */
  readonly onlineShare: number;
  /** online → serving: this share of the best window; back: below it or as far above. */
  readonly servingShare: number;
  /** online → offline: each of the last windows is below this share of the fallback's return. */
  readonly offlineShare: number;
  /** T_var of [AWARE]: largest standard deviation of a window, as a share of `maximum`. */
  readonly spreadShare: number;
  /** Largest possible return; returns are mean rewards per step. */
  readonly maximum: number;
  /** Adjacent windows that must agree before serving begins or ends. */
  readonly agreeingWindows: number;
  /** A mean within this many standard errors of its reference counts as unchanged. */
  readonly standardErrors: number;
  /** The reference averages at most this many episodes, so that a slow decline is detected. */
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
