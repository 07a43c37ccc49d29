import {
  type Broker,
  buckets,
  functionName,
  functionToken,
  type KeyValue,
  type KeyValueEntry,
  type Logger,
  objectStores,
  type SweepDecision,
} from '../../../broker/index.js';
import {
  decodeOwnRegistration,
  encodeMessage,
  type Observation,
  type Registration,
} from '../../../broker/messages/index.js';
import {
  type AgentsConfig,
  type Cancel,
  type Clock,
  configSchema,
  type Micros,
  type Millis,
  messageOf,
  type Timers,
} from '../../../config/index.js';
import type { Agent } from '../agent.js';
import { OrphanedObjects } from './orphaned-objects.js';

export interface RegistrySettings {
  /** A function that was not observed for this long is forgotten, ms. */
  readonly forgetAfter: Millis;
  /** Most entries, over all agent hosts. */
  readonly most: number;
}

/** Bounds the bucket where functions are created under ever new names. */
const ENTRIES_MAX = 100_000;

/** From the configuration's `agents.registry`, or its defaults. */
export const registrySettings = (
  { forgetAfterS }: AgentsConfig['registry'] = configSchema.parse({}).agents.registry,
): RegistrySettings => ({
  forgetAfter: (forgetAfterS * 1000) as Millis,
  most: ENTRIES_MAX,
});

export interface RegistryParts {
  readonly broker: Broker;
  readonly host: string;
  readonly boot: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly settings: RegistrySettings;
  /** This host leases the function's shard: only it writes and deletes the function's entry. */
  readonly isOurs: (fn: string) => boolean;
  /** True on the one host that deletes the markers of released leases. */
  readonly isMarkerSweeper: () => boolean;
  /** Share of all shards that this host owns. */
  readonly shareOwned: () => number;
  /** Monotonic time of the function's newest observation here; null without an agent here. */
  readonly seenAt: (fn: string) => Millis | null;
  /** The revision whose concurrency is tuned; null if unknown. */
  readonly revisionOf: (fn: string) => string | null;
  /** Called when the function's entry is deleted. */
  readonly forgotten: (fn: string) => void;
}

export interface RegistryCounts {
  /** Entries of this host's shards at the last sweep. */
  functions: number;
  /** Entries at the last sweep that no agent host has written: kept at any age. */
  unreadable: number;
  /** Since the start, like the counts below. */
  forgotten: number;
  /** Forgotten because there were too many entries. */
  evicted: number;
  objects: number;
  markers: number;
  failures: number;
}

/** An entry is refreshed after this share of the time after which its function is forgotten. */
const REFRESH = 1 / 4;
/** Sweeps in that time, within the bounds below, ms. */
const SWEEPS = 24;
const SWEEP_MIN = 500;
const SWEEP_MAX = 3_600_000;

/**
 * Keeps one entry per function in `gleaner_functions`, for inspection, and deletes everything that
 * NATS stores for a function that was not observed for long: stores must not grow with every
 * function that ever existed. After a clock step an entry may go early or late; the function is
 * registered again at its next observation.
 */
export class Registry {
  readonly counts: RegistryCounts = {
    functions: 0,
    unreadable: 0,
    forgotten: 0,
    evicted: 0,
    objects: 0,
    markers: 0,
    failures: 0,
  };
  readonly #parts: RegistryParts;
  readonly #bucket: KeyValue;
  readonly #leases: KeyValue;
  readonly #leftovers: OrphanedObjects;
  readonly #cancel: Cancel;
  /** Revisions of deletion markers at the last sweep, by bucket and key. */
  #markers = new Map<string, number>();
  #sweeping = false;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
    const { broker, timers, settings } = parts;
    this.#bucket = broker.keyValue(buckets.functions);
    this.#leases = broker.keyValue(buckets.leases);
    this.#leftovers = new OrphanedObjects(broker.objects(objectStores.policies));
    const interval = Math.min(SWEEP_MAX, Math.max(SWEEP_MIN, settings.forgetAfter / SWEEPS));
    this.#cancel = timers.every(interval as Millis, () => void this.sweep());
  }

  /** Registers the function, and refreshes its entry from time to time. */
  see(agent: Agent, { user }: Observation, now: Millis): void {
    if (now - agent.registeredAt < this.#parts.settings.forgetAfter * REFRESH) return;
    agent.registeredAt = now;
    const { host, boot, clock } = this.#parts;
    const at = clock.wall();
    const entry: Registration = {
      v: 1,
      function: agent.fn,
      manager: agent.manager.name,
      agentHost: host,
      boot,
      user: { cpu: user.cpu, memory: user.memory },
      registeredAt: at,
      seenAt: at,
    };
    this.#write(entry).catch((error: unknown) => {
      // Retry at the function's next observation.
      agent.registeredAt = Number.NEGATIVE_INFINITY as Millis;
      this.#parts.logger.debug({ function: agent.fn, error: messageOf(error) }, 'not registered');
    });
  }

  stop(): void {
    this.#cancel();
  }

  /** Deletes what is too old or too much, of this host's shards. Never rejects. */
  async sweep(): Promise<void> {
    if (this.#sweeping || !this.#parts.broker.connected || this.#parts.shareOwned() === 0) return;
    this.#sweeping = true;
    try {
      await this.#sweep();
    } catch (error) {
      this.counts.failures++;
      this.#parts.logger.debug(
        { error: messageOf(error) },
        'sweep of the function registry failed; it is repeated later',
      );
    } finally {
      this.#sweeping = false;
    }
  }

  async #sweep(): Promise<void> {
    const { isOurs, revisionOf, shareOwned, isMarkerSweeper, settings, seenAt, clock } =
      this.#parts;
    const markers = new Map<string, number>();
    const kept = new Map<string, Micros>();
    let unreadable = 0;
    const isOursByKey = (key: string): boolean => {
      const fn = functionName(key);
      if (fn === null) unreadable++;
      return fn !== null && isOurs(fn);
    };
    await this.#bucket.sweep(isOursByKey, (entry) => {
      const fn = functionName(entry.key);
      if (entry.value === null) return this.#judgeMarker(buckets.functions, entry, markers);
      const decoded = decodeOwnRegistration(entry.value);
      if (fn === null || !decoded.ok || decoded.message.function !== fn) {
        unreadable++;
        if (fn !== null) kept.set(fn, Number.POSITIVE_INFINITY as Micros);
        return 'keep';
      }
      const at = this.#lastSeen(decoded.message);
      if (clock.wall() - at > settings.forgetAfter * 1000) return this.#forget(fn);
      kept.set(fn, at);
      return 'keep';
    });
    await this.#evict(kept, Math.ceil(settings.most * shareOwned()));
    this.counts.functions = [...kept.values()].filter(Number.isFinite).length;
    this.counts.unreadable = unreadable;
    const isKept = (fn: string): boolean => kept.has(fn) || seenAt(fn) !== null;
    this.counts.objects += await this.#leftovers.sweep({ isOurs, isKept, revisionOf });
    if (isMarkerSweeper()) {
      await this.#leases.sweep(
        () => true,
        (entry) =>
          entry.value === null ? this.#judgeMarker(buckets.leases, entry, markers) : 'keep',
      );
    }
    this.#markers = markers;
  }

  /** Deletes the least recently seen of more than `most` entries. */
  async #evict(kept: Map<string, Micros>, most: number): Promise<void> {
    if (kept.size <= most) return;
    const oldest = [...kept].filter(([, at]) => Number.isFinite(at)).sort(([, a], [, b]) => a - b);
    const going = new Set(
      oldest.slice(0, kept.size - most).map(([fn]) => functionToken(fn) as string),
    );
    await this.#bucket.sweep(
      (key) => going.has(key),
      ({ key, value }) => {
        const fn = functionName(key);
        if (value === null || fn === null) return 'keep';
        kept.delete(fn);
        this.counts.evicted++;
        return this.#forget(fn);
      },
    );
  }

  #forget(fn: string): SweepDecision {
    this.counts.forgotten++;
    this.#parts.forgotten(fn);
    return 'delete';
  }

  /** A marker informs watchers of a deletion; it is purged at the second sweep that sees it. */
  #judgeMarker(
    bucket: string,
    { key, revision }: KeyValueEntry,
    markers: Map<string, number>,
  ): SweepDecision {
    const name = `${bucket} ${key}`;
    if (this.#markers.get(name) === revision) {
      this.counts.markers++;
      return 'purge';
    }
    markers.set(name, revision);
    return 'keep';
  }

  /**
   * From the entry, or from later observations here. A future time comes from a wrong clock and
   * counts as now.
   */
  #lastSeen({ function: fn, registeredAt, seenAt }: Registration): Micros {
    const { clock } = this.#parts;
    const here = this.#parts.seenAt(fn);
    const now = clock.wall();
    const sinceHere = here === null ? Number.POSITIVE_INFINITY : (clock.monotonic() - here) * 1000;
    return Math.max(Math.min(seenAt ?? registeredAt, now), now - sinceHere) as Micros;
  }

  /** Never overwrites an entry that another program has written. */
  async #write(entry: Registration): Promise<void> {
    const key = functionToken(entry.function);
    const before = await this.#bucket.get(key);
    if (before?.value && !decodeOwnRegistration(before.value).ok) return;
    await this.#bucket.put(key, encodeMessage(entry));
  }
}
