import { LRUCache } from 'lru-cache';
import type { Logger } from '../../../broker/index.js';
import type { ActionSettings, Observation } from '../../../broker/messages/index.js';
import type { TunedConcurrency } from '../../../broker/services/index.js';
import { type Millis, messageOf, type Random } from '../../../config/index.js';
import { savedGuardOf, type UnsafeLimit } from './guard.js';
import {
  type SafeTuner,
  type SafeTunerReason,
  type SafeTunerState,
  safeTuner,
} from './safe-tuner.js';
import { sampleOf } from './sample.js';
import type { LimitSearch } from './search.js';
import type { LimitRange, TunerSettings } from './settings.js';
import {
  loadGuard,
  loadTable,
  saveGuard,
  saveTable,
  type TableOwner,
  type TableStore,
} from './table.js';
import { concurrencyTuner } from './tuner.js';

/** Phases in which an agent does not learn; two learners at once would disturb each other. */
const SETTLED: ReadonlySet<string> = new Set(['managing', 'serving']);

/** A lease may be lost and had again, ms. */
const AWAY_MAX = 10_000;

/** `elsewhere`: another agent host has the function. */
export type ConcurrencyReason = SafeTunerReason | 'loading' | 'elsewhere';

interface Tuned {
  /** The revision that the table belongs to; another revision starts with an empty table. */
  readonly revision: string;
  /** Null until its table and its guard were looked for. */
  state: SafeTunerState | null;
  limit: number;
  targetLimit: number;
  reason: SafeTunerReason | 'loading';
  searchSteps: number;
  /** Since when another agent host has the function; null: this one has. */
  away: Millis | null;
  /** The newest saving: one object is not written twice at once. */
  saved: Promise<unknown>;
}

/** The platform's settings of an action's concurrency (`gleaner actions follow`). */
export type PlatformConcurrency = NonNullable<ActionSettings['concurrency']>;

function summaryOf(
  fn: string,
  { revision, limit, targetLimit, reason, searchSteps, state, away }: Tuned,
): TunedConcurrency {
  const unsafeLimit = state?.guard.unsafeLimit ?? null;
  const why: ConcurrencyReason = away === null ? reason : 'elsewhere';
  const said = {
    revision,
    limit,
    targetLimit: away === null ? targetLimit : limit,
    reason: why,
  };
  return { function: fn, ...said, searchSteps, ...(unsafeLimit === null ? {} : { unsafeLimit }) };
}

/** Called when a limit causes harm; `back`: the limit that the tuner returns to. */
export type UnsafeLimitListener = (fn: string, found: UnsafeLimit, back: number) => void;

/**
 * Tunes each function whose limit may change, on a slow clock, and pauses while its agent learns.
 * Harmful limits are left at once (`guard.ts`). It gives targets: openwhisk-plugin/openwhisk-api
 * applies them, and only the limit in force counts.
 */
export class ConcurrencyTuners {
  readonly #tuner: SafeTuner;
  readonly #onUnsafeLimit: UnsafeLimitListener;
  readonly #store: TableStore;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #tuned: LRUCache<string, Tuned>;

  constructor(parts: {
    readonly search: LimitSearch;
    readonly settings: TunerSettings;
    readonly onUnsafeLimit?: UnsafeLimitListener;
    readonly store: TableStore;
    readonly random: Random;
    readonly functions: number;
    readonly logger: Logger;
  }) {
    this.#tuner = safeTuner(concurrencyTuner(parts.search, parts.settings));
    this.#onUnsafeLimit = parts.onUnsafeLimit ?? (() => {});
    this.#store = parts.store;
    this.#random = parts.random;
    this.#logger = parts.logger;
    this.#tuned = new LRUCache({ max: Math.max(1, parts.functions) });
  }

  /** `platform` undefined: its settings are unknown, so nothing is tuned. */
  observe(
    observation: Observation,
    platform: PlatformConcurrency | undefined,
    phase: string,
    now: Millis,
  ): void {
    const { function: fn } = observation;
    if (platform === undefined) {
      this.#tuned.delete(fn);
      return;
    }
    const tuned = this.#of(fn, platform, now);
    tuned.limit = platform.limit;
    if (tuned.state === null) return;
    const allowed: LimitRange = { least: platform.least, most: platform.most };
    const user = platform.requested ?? platform.limit;
    const view = {
      sample: sampleOf(observation, platform.limit),
      allowed,
      frozen: !SETTLED.has(phase),
      user,
    };
    const { state, decision } = this.#tuner.decide(tuned.state, view, now, this.#random);
    tuned.state = state;
    tuned.targetLimit = decision.limit;
    tuned.reason = decision.reason;
    if (decision.found !== null) this.#onUnsafeLimit(fn, decision.found, decision.limit);
    const searchSteps = decision.reason === 'searched';
    if (searchSteps) tuned.searchSteps++;
    if (searchSteps || decision.found !== null) this.#save(fn, tuned, state, searchSteps);
  }

  /** Another agent host has the function: there is no target here. */
  elsewhere(fn: string, now: Millis): void {
    const tuned = this.#tuned.peek(fn);
    if (tuned !== undefined) tuned.away ??= now;
  }

  get functions(): number {
    return this.#tuned.size;
  }

  tuned(from = 0, count = Number.POSITIVE_INFINITY): TunedConcurrency[] {
    const page: TunedConcurrency[] = [];
    let place = 0;
    for (const [fn, tuned] of this.#tuned.entries()) {
      if (place++ < from) continue;
      if (page.length >= count) break;
      page.push(summaryOf(fn, tuned));
    }
    return page;
  }

  /** One function; empty where it is not tuned. */
  of(fn: string): TunedConcurrency[] {
    const tuned = this.#tuned.peek(fn);
    return tuned === undefined ? [] : [summaryOf(fn, tuned)];
  }

  #of(fn: string, { revision, limit }: PlatformConcurrency, now: Millis): Tuned {
    const known = this.#tuned.get(fn);
    // After a while what another host came to is newer, and is read again.
    const stale = known !== undefined && known.away !== null && now - known.away > AWAY_MAX;
    if (known !== undefined && known.revision === revision && !stale) {
      known.away = null;
      return known;
    }
    const initial = {
      limit,
      targetLimit: limit,
      reason: 'loading' as const,
      searchSteps: 0,
      away: null,
      saved: Promise.resolve(),
    };
    const tuned: Tuned = { revision, state: null, ...initial };
    this.#tuned.set(fn, tuned);
    void this.#load({ function: fn, revision }, tuned);
    return tuned;
  }

  async #load(owner: TableOwner, tuned: Tuned): Promise<void> {
    const { search, settings } = this.#tuner.tuner;
    const orNothing = (what: string) => (error: unknown) => {
      this.#logger.warn(
        { function: owner.function, error: messageOf(error) },
        `cannot use ${what}: it starts again`,
      );
      return null;
    };
    const [learned, guard] = await Promise.all([
      loadTable(this.#store, owner, search, settings.grid).catch(orNothing('a concurrency table')),
      loadGuard(this.#store, owner).catch(orNothing('a list of harmful limits')),
    ]);
    tuned.state = this.#tuner.initialState(learned ?? undefined, guard);
  }

  #save(fn: string, tuned: Tuned, state: SafeTunerState, searchSteps: boolean): void {
    const owner = { function: fn, revision: tuned.revision };
    const { search, settings } = this.#tuner.tuner;
    tuned.saved = tuned.saved
      .then(async () => {
        await saveGuard(this.#store, owner, savedGuardOf(state.guard));
        if (searchSteps)
          await saveTable(this.#store, owner, search, settings.grid, state.tuner.search);
      })
      .catch((error: unknown) =>
        this.#logger.warn(
          { function: fn, error: messageOf(error) },
          'a concurrency table is not kept',
        ),
      );
  }
}
