import { LRUCache } from 'lru-cache';
import type { ActionSettings, Logger, Observation, TunedConcurrency } from '../../broker/index.js';
import { type Millis, messageOf, type Random } from '../../config/index.js';
import { sampleOf } from './sample.js';
import type { LimitSearch } from './search.js';
import type { LimitRange, TunerSettings } from './settings.js';
import { loadTable, saveTable, type TableStore } from './table.js';
import { concurrencyTuner, type TunerReason, type TunerState } from './tuner.js';

/** Phases in which an agent does not learn; in any other the tuner holds still (simppo-aware.md §5.4). */
const SETTLED: ReadonlySet<string> = new Set(['managing', 'serving']);

/** One function that is tuned. */
interface Tuned {
  /** What its table was learned on; another revision begins anew. */
  readonly revision: string;
  /** Null until its table was looked for. */
  state: TunerState | null;
  limit: number;
  wish: number;
  reason: TunerReason | 'loading';
  searched: number;
}

/** What the platform says of an action's concurrency (`gleaner actions follow`). */
export type PlatformConcurrency = NonNullable<ActionSettings['concurrency']>;

/**
 * The concurrency tuner of an agent host: every function whose limit the platform lets be changed is tuned from its observations, on the
 * slower clock of its settings, and holds still while the function's agent learns. Tables are kept per function and revision. It only wishes:
 * who may change actions asks for the wishes, and what counts is the limit that is then in force.
 */
export class TunerDesk {
  readonly #tuner;
  readonly #store: TableStore;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #tuned: LRUCache<string, Tuned>;

  constructor(parts: {
    readonly search: LimitSearch;
    readonly settings: TunerSettings;
    readonly store: TableStore;
    readonly random: Random;
    readonly functions: number;
    readonly logger: Logger;
  }) {
    this.#tuner = concurrencyTuner(parts.search, parts.settings);
    this.#store = parts.store;
    this.#random = parts.random;
    this.#logger = parts.logger;
    this.#tuned = new LRUCache({ max: Math.max(1, parts.functions) });
  }

  /** `platform` undefined: the platform says nothing of it, so nothing is tuned. */
  observe(observation: Observation, platform: PlatformConcurrency | undefined, phase: string, now: Millis): void {
    const { function: fn } = observation;
    if (platform === undefined) {
      this.#tuned.delete(fn);
      return;
    }
    const tuned = this.#of(fn, platform);
    tuned.limit = platform.limit;
    if (tuned.state === null) return;
    const allowed: LimitRange = { least: platform.least, most: platform.most };
    const view = { sample: sampleOf(observation, platform.limit), allowed, frozen: !SETTLED.has(phase) };
    const { state, decision } = this.#tuner.decide(tuned.state, view, now, this.#random);
    tuned.state = state;
    tuned.wish = decision.limit;
    tuned.reason = decision.reason;
    if (decision.reason !== 'searched') return;
    tuned.searched++;
    const { search, settings } = this.#tuner;
    saveTable(this.#store, { function: fn, revision: tuned.revision }, search, settings.grid, state.search).catch(
      (error: unknown) =>
        this.#logger.warn({ function: fn, error: messageOf(error) }, 'a concurrency table is not kept'),
    );
  }

  get functions(): number {
    return this.#tuned.size;
  }

  /** A page of what is tuned. */
  tuned(from = 0, count = Number.POSITIVE_INFINITY): TunedConcurrency[] {
    const page: TunedConcurrency[] = [];
    let place = 0;
    for (const [fn, { revision, limit, wish, reason, searched }] of this.#tuned.entries()) {
      if (place++ < from) continue;
      if (page.length >= count) break;
      page.push({ function: fn, revision, limit, wish, reason, searched });
    }
    return page;
  }

  #of(fn: string, { revision, limit }: PlatformConcurrency): Tuned {
    const known = this.#tuned.get(fn);
    if (known?.revision === revision) return known;
    const tuned: Tuned = { revision, state: null, limit, wish: limit, reason: 'loading', searched: 0 };
    this.#tuned.set(fn, tuned);
    const { search, settings } = this.#tuner;
    loadTable(this.#store, { function: fn, revision }, search, settings.grid)
      .catch((error: unknown) => {
        this.#logger.warn(
          { function: fn, error: messageOf(error) },
          'a concurrency table cannot be used: it is learnt anew',
        );
        return null;
      })
      .then((learned) => {
        tuned.state = this.#tuner.initialState(learned ?? undefined);
      });
    return tuned;
  }
}
