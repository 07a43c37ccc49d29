import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Observation } from '../../../broker/messages/index.js';
import type { HostUserMemory, SizeAdvice } from '../../../broker/services/index.js';
import type { Bytes, Micros, Millis } from '../../../config/index.js';
import {
  countPeak,
  IDLE_LIFE,
  intersectUserMemory,
  noPeakExcess,
  recommendedSize,
  rememberedPeak,
  SIZE_RULES,
  type SizeRules,
  type UserMemoryRange,
  userMemoryRange,
} from '../../../rules/index.js';
import { busyMillis, isValidObservation } from '../../validation.js';

/** Hosts that are remembered: with their user-memory, and of each function. */
const KNOWN_HOSTS_MAX = 10_000;
/** A daily peak must be remembered until the next day, ms [VPA]. */
const PEAK_HALF_LIFE = 86_400_000;
/** Peaks of this many newest steps count whole, so that the advice does not alternate. */
const NEWEST = 8;
/** Half-life of the rate of evictions, ms. */
const EVICTION_HALF_LIFE = 300_000;

const amount = z.number().min(0);
const count = z.int().min(0);

/** The stored evidence of one function: bytes and ms, with ages instead of times. */
const sizingFields = z.object({
  limit: amount,
  most: amount,
  highest: amount,
  /** Decayed up to `at`. */
  recent: amount,
  activations: count,
  activationsAtLimit: count,
  busy: amount,
  coldStarts: count,
  kills: count,
  killedAt: amount,
  /** Since the first activation, up to `at`. */
  seen: amount,
  /** Wall clock, us. */
  at: amount,
});
/** Records of earlier releases name activations `calls`. */
const sizingRecordSchema = z.preprocess((saved) => {
  if (typeof saved !== 'object' || saved === null || !('calls' in saved)) return saved;
  const { calls, callsAtLimit, ...others } = saved as Record<string, unknown>;
  return { ...others, activations: calls, activationsAtLimit: callsAtLimit };
}, sizingFields);
type SizingRecord = z.output<typeof sizingRecordSchema>;

/** What was seen of one function; amounts as in {@link SizeAdvice}. */
class Sizing {
  /** By host, the least recently seen first: when that was and how many there were. */
  readonly hosts = new Map<string, { at: Millis; containers: number }>();
  limit = 0;
  /** What its user asked for: the largest limit that it ever had, seen here or by the hooks. */
  most = 0;
  highest = 0;
  /** Decayed up to `until`. */
  peak = 0;
  /** Peaks of the newest steps. */
  readonly newest: number[] = [];
  activations = 0;
  activationsAtLimit = 0;
  busy = 0;
  coldStarts = 0;
  /** Cold starts soon after another activation, decayed up to `until`. */
  evictions = 0;
  kills = 0;
  killedAt = 0;
  since: Millis;
  until: Millis;

  constructor(now: Millis) {
    this.since = now;
    this.until = now;
  }

  recent(now: Millis): number {
    return rememberedPeak(this.peak, now - this.until, PEAK_HALF_LIFE, this.newest);
  }

  evictionsUntil(now: Millis): number {
    return this.evictions * 2 ** (-Math.max(0, now - this.until) / EVICTION_HALF_LIFE);
  }

  see(observation: Observation, asked: number, now: Millis): void {
    const { user, peak, control } = observation;
    const activations = observation.activations + control.activations;
    this.peak = rememberedPeak(this.peak, now - this.until, PEAK_HALF_LIFE, []);
    this.evictions = this.evictionsUntil(now);
    if (this.activations > 0 && now - this.until < IDLE_LIFE)
      this.evictions += observation.coldStarts;
    this.until = now;
    if (activations > 0 && peak.memory > 0) {
      this.highest = Math.max(this.highest, peak.memory);
      this.peak = Math.max(this.peak, peak.memory);
      this.newest.push(peak.memory);
      if (this.newest.length > NEWEST) this.newest.shift();
    }
    // In a step in which the limit changes the smaller one may be what killed, and is what is safe
    // to blame.
    const least = this.limit > 0 ? Math.min(this.limit, user.memory) : user.memory;
    this.activationsAtLimit =
      (user.memory === this.limit ? this.activationsAtLimit : 0) + activations;
    this.limit = user.memory;
    this.most = Math.max(this.most, user.memory, asked);
    this.activations += activations;
    this.busy += busyMillis(observation);
    this.coldStarts += observation.coldStarts;
    this.hosts.delete(observation.host);
    this.hosts.set(observation.host, { at: now, containers: observation.containers });
    for (const [host, { at }] of this.hosts) {
      if (now - at <= IDLE_LIFE && this.hosts.size <= KNOWN_HOSTS_MAX) break;
      this.hosts.delete(host);
    }
    if (observation.oomKills > 0) {
      // An OOM kill proves that more than the limit was needed, even if no sample shows it.
      this.kills += observation.oomKills;
      this.killedAt = least;
      this.peak = Math.max(this.peak, least);
    }
  }
}

/** ms; a record from the future, by another machine's clock, counts as stored now. */
const awayFor = (at: Micros, wall: Micros): Millis => Math.max(0, (wall - at) / 1000) as Millis;

/**
 * Advice on the nominal memory of actions, for functions of all managers, with the evidence;
 * `gleaner actions` asks for it.
 */
export class SizeAdviser {
  readonly #sizes: SizeRules;
  readonly #sizings: LRUCache<string, Sizing>;
  readonly #userMemory: LRUCache<string, { range: UserMemoryRange; at: Millis }>;
  /** Peaks of all functions that were ever seen here. */
  readonly peaks = noPeakExcess();

  constructor(functions: number, sizes: SizeRules = SIZE_RULES) {
    this.#sizes = sizes;
    this.#sizings = new LRUCache({ max: Math.max(1, functions) });
    this.#userMemory = new LRUCache({ max: KNOWN_HOSTS_MAX });
  }

  /** `asked`: the user's size in bytes if Gleaner made the action smaller, else 0. */
  observe(observation: Observation, now: Millis, asked = 0): void {
    const { function: fn, user } = observation;
    if (!isValidObservation(observation) || !(user.memory > 0)) return;
    this.#learnHost(observation, now);
    let sizing = this.#sizings.get(fn);
    if (sizing === undefined) {
      sizing = new Sizing(now);
      this.#sizings.set(fn, sizing);
    }
    const { activations, control, peak } = observation;
    const before = sizing.recent(now);
    if (before > 0 && peak.memory > 0)
      countPeak(
        this.peaks,
        sizing.activations,
        activations + control.activations,
        peak.memory / before,
      );
    sizing.see(observation, asked, now);
  }

  get functions(): number {
    return this.#sizings.size;
  }

  names(): Iterable<string> {
    return this.#sizings.keys();
  }

  /** Null: nothing was seen. `wall`: comparable between machines. */
  saveState(fn: string, now: Millis, wall: Micros): SizingRecord | null {
    const sizing = this.#sizings.peek(fn);
    if (sizing === undefined || sizing.activations === 0) return null;
    return {
      limit: sizing.limit,
      most: sizing.most,
      highest: sizing.highest,
      activations: sizing.activations,
      activationsAtLimit: sizing.activationsAtLimit,
      busy: sizing.busy,
      coldStarts: sizing.coldStarts,
      kills: sizing.kills,
      killedAt: sizing.killedAt,
      recent: sizing.recent(now),
      seen: now - sizing.since,
      at: wall,
    };
  }

  /** False: it is invalid, or activations were seen already. The time between counts as seen. */
  loadState(fn: string, saved: unknown, now: Millis, wall: Micros): boolean {
    const checked = sizingRecordSchema.safeParse(saved);
    if (!checked.success || this.#sizings.has(fn)) return false;
    const { recent, seen, at, ...sums } = checked.data;
    const away = awayFor(at as Micros, wall);
    const sizing = new Sizing(now);
    Object.assign(sizing, sums);
    sizing.since = (now - seen - away) as Millis;
    sizing.peak = recent * 2 ** (-away / PEAK_HALF_LIFE);
    this.#sizings.set(fn, sizing);
    return true;
  }

  forget(fn: string): void {
    this.#sizings.delete(fn);
  }

  /** `from` and `count`: a page, the one seen last first. */
  advice(now: Millis, from = 0, count = Number.POSITIVE_INFINITY): SizeAdvice[] {
    const page: SizeAdvice[] = [];
    let place = 0;
    for (const [fn, sizing] of this.#sizings.entries()) {
      if (place++ < from) continue;
      if (page.length >= count) break;
      page.push(this.#adviceOf(fn, sizing, now));
    }
    return page;
  }

  /** Those that had containers recently, each with the least that its shares allow. */
  hosts(now: Millis): HostUserMemory[] {
    return [...this.#userMemory.entries()].flatMap(([host, { range, at }]) =>
      now - at > IDLE_LIFE ? [] : [{ host, userMemory: range.low as Bytes }],
    );
  }

  #learnHost({ host, user }: Observation, now: Millis): void {
    if (user.sharesFollowMemory === false) return;
    const range = userMemoryRange(user.memory, user.shares);
    if (range === null || range.low >= range.high) return;
    const known = this.#userMemory.get(host)?.range;
    const both = known === undefined ? range : intersectUserMemory(known, range);
    // A contradiction: the invoker was restarted with another user-memory.
    this.#userMemory.set(host, { range: both.low < both.high ? both : range, at: now });
  }

  #adviceOf(fn: string, sizing: Sizing, now: Millis): SizeAdvice {
    const {
      limit,
      most,
      highest,
      activations,
      activationsAtLimit,
      busy,
      coldStarts,
      hosts,
      kills,
      killedAt,
    } = sizing;
    let containers = 0;
    for (const one of hosts.values()) if (now - one.at <= IDLE_LIFE) containers += one.containers;
    const recent = sizing.recent(now);
    const seen = Math.max(0, now - sizing.since) as Millis;
    const killed = kills > 0 && killedAt >= limit ? killedAt : null;
    return {
      function: fn,
      limit: limit as Bytes,
      size: (recent > 0 ? recommendedSize(recent, most, killed, this.#sizes) : limit) as Bytes,
      highest: highest as Bytes,
      recent: recent as Bytes,
      activations,
      activationsAtLimit,
      seen,
      rate: seen > 0 ? activations / (seen / 1000) : 0,
      busy: (activations > 0 ? busy / activations : 0) as Millis,
      coldStarts,
      evictionRate: (sizing.evictionsUntil(now) * Math.LN2) / (EVICTION_HALF_LIFE / 1000),
      containers,
      kills,
      killedAt: kills > 0 ? (killedAt as Bytes) : null,
    };
  }
}
