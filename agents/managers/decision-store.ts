import type { Millis } from '../../config/index.js';
import type { Bounds } from './vpa.js';

/** What a recommender wants; absent: no wish. Millicores, bytes. */
export interface Recommendation {
  readonly cpu?: Bounds;
  readonly memory?: Bounds;
  readonly containers?: number;
  /** Brook no delay: an OOM kill. */
  readonly urgent: boolean;
}

/**
 * The newest recommendation of a function, with whose it is and how long it holds: what AWARE keeps
 * in the MPA object's status.
 */
export interface StoredRecommendation extends Recommendation {
  readonly author: string;
  readonly at: Millis;
  readonly expires: Millis;
}

/**
 * Member by member the newest: a recommender that says nothing of containers leaves what was said
 * before.
 */
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

/** Null where nothing is stored or it has expired: nobody acts on old words. */
export function fresh(
  store: StoredRecommendation | null,
  now: Millis,
): StoredRecommendation | null {
  return store !== null && store.expires > now ? store : null;
}
