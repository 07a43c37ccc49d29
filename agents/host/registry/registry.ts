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
  /** What is kept of a function that was not seen for so long is taken away, ms. */
  readonly forgetAfter: Millis;
  /** Entries kept at most, on all hosts. */
  readonly most: number;
}

/** As configured (`agents.registry`), else the configuration's defaults. */
export const registrySettings = (
  { forgetAfterS, most }: AgentsConfig['registry'] = configSchema.parse({}).agents.registry,
): RegistrySettings => ({
  forgetAfter: (forgetAfterS * 1000) as Millis,
  most,
});

export interface RegistryParts {
  readonly broker: Broker;
  readonly host: string;
  readonly boot: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly settings: RegistrySettings;
  /**
   * The function's shard is leased by this host: nobody else writes its entry, and nobody else
   * takes it away.
   */
  readonly isOurs: (fn: string) => boolean;
  /** One host of all, which takes away the markers of leases that were given back. */
  readonly isMarkerSweeper: () => boolean;
  /** Share of all shards that are ours. */
  readonly shareOwned: () => number;
  /**
   * Monotonic time at which the function was seen here last; null: not since its agent was made.
   */
  readonly seenAt: (fn: string) => Millis | null;
  /** The revision whose concurrency is tuned; null: not known. */
  readonly revisionOf: (fn: string) => string | null;
  /** Nothing of it is kept in NATS any more. */
  readonly forgotten: (fn: string) => void;
}

export interface RegistryCounts {
  /** Entries of our shards, at the last sweep. */
  functions: number;
  /**
   * Entries with something that no agent host has written: kept, whatever their age. At the last
   * sweep.
   */
  unreadable: number;
  /** Since the start, as those that follow. */
  forgotten: number;
  /** Of these: not old, but the oldest of too many. */
  evicted: number;
  objects: number;
  markers: number;
  failures: number;
}

/**
 * An entry tells when its function was seen as exactly as this share of the time after which it is
 * forgotten.
 */
const REFRESH = 1 / 4;
/** Sweeps in that time, but neither more often nor more seldom than: */
const SWEEPS = 24;
const SWEEP_MIN = 500;
const SWEEP_MAX = 3_600_000;

/**
 * The entries of functions in `gleaner_functions`, and all else that NATS keeps for each: written
 * when a function is seen, taken away when it was not for long, so that neither grows with every
 * function that ever was. It is for people and never waited for.
 *
 * A clock that jumps makes an entry go early, or late; a function that is called is registered
 * again either way.
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
  /**
   * Revisions of markers of deletions at the last sweep, by bucket and key: by now everybody who
   * watches knows of them.
   */
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

  /** Registers the function, and again now and then while it is called. */
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
      // Tried again at the function's next observation.
      agent.registeredAt = Number.NEGATIVE_INFINITY as Millis;
      this.#parts.logger.debug({ function: agent.fn, error: messageOf(error) }, 'not registered');
    });
  }

  stop(): void {
    this.#cancel();
  }

  /** Takes away what is too old or too much, of functions whose shards are ours. Never rejects. */
  async sweep(): Promise<void> {
    if (this.#sweeping || !this.#parts.broker.connected || this.#parts.shareOwned() === 0) return;
    this.#sweeping = true;
    try {
      await this.#sweep();
    } catch (error) {
      this.counts.failures++;
      this.#parts.logger.debug(
        { error: messageOf(error) },
        'functions not called for long are not forgotten now',
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
    const mine = (key: string): boolean => {
      const fn = functionName(key);
      if (fn === null) unreadable++;
      return fn !== null && isOurs(fn);
    };
    await this.#bucket.sweep(mine, (entry) => {
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
    await this.#crowdOut(kept, Math.ceil(settings.most * shareOwned()));
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

  /** Of more than may be kept, those that were seen longest ago go. */
  async #crowdOut(kept: Map<string, Micros>, most: number): Promise<void> {
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

  /** A marker tells watchers of the deletion; at the next sweep it has done so. */
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
   * By the entry, or by what this host has seen since. A time to come was written by a clock that
   * was wrong: as good as now.
   */
  #lastSeen({ function: fn, registeredAt, seenAt }: Registration): Micros {
    const { clock } = this.#parts;
    const here = this.#parts.seenAt(fn);
    const now = clock.wall();
    const sinceHere = here === null ? Number.POSITIVE_INFINITY : (clock.monotonic() - here) * 1000;
    return Math.max(Math.min(seenAt ?? registeredAt, now), now - sinceHere) as Micros;
  }

  /** An entry in which somebody else has put something is left as it is. */
  async #write(entry: Registration): Promise<void> {
    const key = functionToken(entry.function);
    const before = await this.#bucket.get(key);
    if (before?.value && !decodeOwnRegistration(before.value).ok) return;
    await this.#bucket.put(key, encodeMessage(entry));
  }
}
