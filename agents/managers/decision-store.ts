import type { Millis } from '../../config/index.js';
import type { Bounds } from './vpa.js';

/** A recommender's output; absent members recommend nothing. Millicores, bytes. */
export interface Recommendation {
  readonly cpu?: Bounds;
  readonly memory?: Bounds;
  readonly containers?: number;
  /** Apply immediately: there was an OOM kill. */
  readonly urgent: boolean;
}

/** A function's newest recommendation, its author and its expiry, as in [MPA]'s object status. */
export interface StoredRecommendation extends Recommendation {
  readonly author: string;
  readonly at: Millis;
  readonly expires: Millis;
}

/** Merges by member: a recommendation without containers keeps the earlier number. */
export function stored(
  before: StoredRecommendation | null,
  recommendation: Recommendation,
  author: string,
  now: Millis,
  life: number,
): StoredRecommendation {
  const kept = before !== null && before.expires > now ? before : null;
  return { ...kept, ...recommendation, author, at: now, expires: (now + life) as Millis };
}

/** The stored recommendation, or null if there is none or it has expired. */
export function fresh(
  store: StoredRecommendation | null,
  now: Millis,
): StoredRecommendation | null {
  return store !== null && store.expires > now ? store : null;
}
