/**
 * A run and its results as plain JSON: the same bytes for the same options, no wall-clock times.
 */
export interface RunSummary {
  readonly manager: string;
  readonly mode: 'weight' | 'quota';
  /** The hook made decisions; false: OpenWhisk alone. */
  readonly safeguard: boolean;
  readonly quotaPolicy: string;
  readonly weightPolicy: string;
  readonly seed: number;
  readonly hosts: number;
  readonly cores: number;
  readonly userMemoryMiB: number;
  readonly functions: number;
  /** Length of the arrivals, and until the last activation ended, ms. */
  readonly spanMs: number;
  readonly endedAtMs: number;
  /** CPU work asked for over (all cores x span of the arrivals); cold starts come on top. */
  readonly offeredLoad: number;
  /** Cores kept busy, inits included, over the span of the arrivals. */
  readonly utilization: number;
  readonly activations: number;
  readonly outcomes: OutcomeCounts;
  /**
   * Response / contention-free duration at true demand (the oracle's), of successful activations;
   * never below 1.
   */
  readonly slowdown: Statistics;
  /**
   * Execution / execution alone at the user's limits (FaaSRM's RFET), of successful activations.
   */
  readonly rfet: Statistics;
  /** Wait + init + run, ms, of successful activations. */
  readonly responseMs: Statistics;
  /** Share of successful activations with a slowdown above 1.2. */
  readonly slowShare: number;
  readonly starts: StartCounts;
  readonly coldShare: number;
  /** Activations that waited for memory on a host, and their mean wait, ms. */
  readonly waited: number;
  readonly waitMeanMs: number;
  readonly oomKills: number;
  readonly harvest: HarvestTotals;
  /**
   * The function with the worst mean slowdown among those with at least 20 successful activations
   * (else among all); null without any.
   */
  readonly worst: {
    readonly name: string;
    readonly slowdown: number;
    readonly activations: number;
  } | null;
  /**
   * Functions whose p99 of init + run is above their objective, of those that have one and 20
   * activations.
   */
  readonly slo: {
    readonly functions: number;
    readonly missed: number;
    /**
     * Activations of these functions, and how many of them failed or took longer than the
     * objective.
     */
    readonly activations: number;
    readonly late: number;
  };
  readonly perFunction: readonly FunctionSummary[];
  readonly series: Series;
}

export interface Statistics {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

interface OutcomeCounts {
  readonly success: number;
  readonly timeout: number;
  readonly outOfMemory: number;
  readonly lost: number;
  readonly rejected: number;
}

interface StartCounts {
  readonly cold: number;
  readonly prewarmed: number;
  readonly warm: number;
}

/** All zero in weight mode but `trips`, `control` and what memory brings. */
export interface HarvestTotals {
  /**
   * Core-seconds kept free below user limits, used above them, and borrowed (granted above, used or
   * not).
   */
  readonly harvestedCoreSeconds: number;
  readonly acceleratedCoreSeconds: number;
  readonly borrowedCoreSeconds: number;
  /** Demand of the policies, in core-seconds of the runs. */
  readonly demandCoreSeconds: number;
  /** Estimate of the product: run time saved by what was accelerated, s. */
  readonly savedSeconds: number;
  /** Shares of all activations that were harvested, accelerated, that borrowed. */
  readonly harvestedShare: number;
  readonly acceleratedShare: number;
  readonly borrowedShare: number;
  /** Mid-run restorations, control-arm runs, loans taken back. */
  readonly trips: number;
  readonly control: number;
  readonly revoked: number;
}

export interface FunctionSummary {
  readonly name: string;
  readonly activations: number;
  readonly meanSlowdown: number;
  readonly p99Slowdown: number;
  /** p99 of init + run, ms. */
  readonly p99Ms: number;
  /**
   * The spec's objective, else 1.2 x the p99 alone at user limits; NaN is never there, null =
   * unknown.
   */
  readonly sloMs: number | null;
  /** Activations that failed, or whose init + run took longer than that. */
  readonly late: number;
  readonly coldStarts: number;
  readonly oomKills: number;
  readonly failures: number;
  /** Core-seconds. */
  readonly harvested: number;
  readonly accelerated: number;
}

/** Buckets of equal length over the span of the arrivals; levels are those at each bucket's end. */
export interface Series {
  readonly bucketMs: number;
  /** Busy cores / all cores, mean over the bucket. */
  readonly utilization: readonly number[];
  /** Cores. */
  readonly harvested: readonly number[];
  readonly borrowed: readonly number[];
  readonly demand: readonly number[];
  /** Activations. */
  readonly waiting: readonly number[];
  readonly running: readonly number[];
  readonly containers: readonly number[];
}
