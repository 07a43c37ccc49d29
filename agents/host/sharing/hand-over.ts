import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { type Logger, type ObjectStore, StoreError, warnOnce } from '../../../broker/index.js';
import { encodeMessage } from '../../../broker/messages/index.js';
import {
  type Cancel,
  type Clock,
  GleanerError,
  type Micros,
  type Millis,
  messageOf,
  type Timers,
} from '../../../config/index.js';
import { jsonVersion, type NewerObjects } from '../../newer-objects.js';
import { type Agent, type SavedAgent, savedAgentSchema } from '../agent.js';
import { shardOf } from './plan.js';

/** To be raised with any manager's saved state, too: older hosts leave such objects alone. */
const VERSION = 1;
const shardSchema = z.object({
  v: z.literal(VERSION),
  shard: z.int().min(0),
  epoch: z.int().min(0),
  /** Each validated by itself, so that one of them cannot lose all. */
  agents: z.record(z.string(), z.unknown()),
  /** Validated by {@link Evidence.loadState}. */
  sizing: z.record(z.string(), z.unknown()).default({}),
});

/** Data about functions that moves between hosts with their agents. */
interface Evidence {
  names(): Iterable<string>;
  /** Plain JSON; null if there is nothing to save. */
  saveState(fn: string, now: Millis, wall: Micros): unknown;
  /** False if it cannot be used. */
  loadState(fn: string, saved: unknown, now: Millis, wall: Micros): boolean;
  forget(fn: string): void;
}

/** Largest object of a shard: a larger one is not read, and no more agents than fit are saved. */
const BYTES_MAX = 8 * 1024 * 1024;
/** Suspended agents kept in memory; the least recently used is dropped. */
const SAVED_MAX = 20_000;
/** Shards saved per turn, and shards loaded at once: bounds the load on the store. */
const SAVES_A_TURN = 4;
const PARALLEL = 4;
/** Tries of the last save of a shard: so often, and no longer than the part's stop may take. */
const LAST_SAVE_INTERVAL = 250 as Millis;
const LAST_SAVE_TIMEOUT = 2500 as Millis;
/** Unusable agents that a line of the log names. */
const NAMED_MAX = 5;
/** A store that does not answer must not delay a shard: see {@link HandOver} for what it means. */
const LOAD_TIMEOUT = 1500 as Millis;

/** A shard's object that is not overwritten, because it is not read yet. */
interface UnreadObject {
  /** Under which this host has the shard. */
  readonly epoch: number;
  /** The store did not answer; read again at the next turn. */
  hasFailed: boolean;
  /** Paused or resumed meanwhile, which the object does not undo; null: no state to save. */
  readonly pauses: Map<string, SavedAgent | null>;
}

export interface HandOverOptions {
  readonly objects: ObjectStore;
  readonly agents: LRUCache<string, Agent>;
  readonly sizing?: Evidence;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly newer: NewerObjects;
}

export const shardObject = (shard: number): string => `agents-shard-${shard}`;

/**
 * Suspends and resumes agents: of functions that are no longer resident, in memory, and of shards
 * that move to another host, in the object store (one object per shard). A few shards are saved
 * per turn, and a shard when it is released; a crash loses what happened since. Nothing depends on
 * it: agents of a shard that is not loaded continue from what this host still has of them, as after
 * a lapse of its lease, or restart from the base policy.
 */
export class HandOver {
  readonly #options: HandOverOptions;
  readonly #objects: ObjectStore;
  readonly #log: (fields: object, message: string) => void;
  readonly #suspended = new LRUCache<string, SavedAgent>({ max: SAVED_MAX });
  readonly #dirty = new Set<number>();
  /** By shard whose agents are in memory: the epoch under which this host last read its object. */
  readonly #served = new Map<number, number>();
  readonly #unread = new Map<number, UnreadObject>();
  #reading = 0;
  readonly #waiting: (() => void)[] = [];
  /** One line is enough for all shards, until one has been saved again. */
  #hasLost = false;
  /** `loaded`, `unusable`: suspended agents that were resumed or could not be. */
  readonly counts = { loaded: 0, unusable: 0, saves: 0, failures: 0 };

  constructor(options: HandOverOptions) {
    this.#options = options;
    this.#log = warnOnce(options.logger);
    const { objects, newer } = options;
    this.#objects = newer.beside(objects, VERSION, jsonVersion);
  }

  /** Resumes a new agent from its function's suspended one, if there is one. */
  loadState(agent: Agent): void {
    const saved = this.#suspended.get(agent.fn);
    if (!saved) return;
    this.#suspended.delete(agent.fn);
    if (agent.loadState(saved, this.#options.clock.monotonic())) this.counts.loaded++;
    else this.counts.unusable++;
  }

  decided(agent: Agent): void {
    if (agent.isSavable || this.#options.sizing !== undefined) this.#dirty.add(shardOf(agent.fn));
  }

  /** Suspends an agent that is no longer resident. */
  saveState(agent: Agent): void {
    const saved = agent.saveState(this.#options.clock.monotonic());
    if (saved) this.#suspended.set(agent.fn, saved);
  }

  /** Pauses or resumes a function's agent, suspended or not; false: it has none here. */
  pause(fn: string, paused: boolean): boolean {
    const agent = this.#options.agents.peek(fn);
    const suspended = this.#suspended.peek(fn);
    if (agent !== undefined) agent.paused = paused;
    else if (suspended !== undefined)
      this.#suspended.set(fn, { ...suspended, paused: paused || undefined });
    else return false;
    const shard = shardOf(fn);
    const now = this.#options.clock.monotonic();
    this.#unread
      .get(shard)
      ?.pauses.set(fn, agent?.saveState(now) ?? this.#suspended.peek(fn) ?? null);
    this.#dirty.add(shard);
    return true;
  }

  /** Drops what is known of a function that the registry has forgotten. */
  forget(fn: string): void {
    this.#options.sizing?.forget(fn);
    if (this.#suspended.delete(fn)) this.#dirty.add(shardOf(fn));
  }

  /** Loads what the shard's previous owner saved, unless that was this host. */
  async onAcquired(shard: number, epoch: number): Promise<void> {
    const unread: UnreadObject = { epoch, hasFailed: false, pauses: new Map() };
    // A load for an earlier lease that has not ended has no effect any more.
    this.#unread.set(shard, unread);
    await within(this.#options.timers, LOAD_TIMEOUT, this.#load(shard, unread));
  }

  /**
   * Saves and drops a shard that moves to another host. What cannot be saved stays, for the case
   * that the shard returns before another host has saved it. `isOurs`: no other host can have
   * taken it. Never rejects.
   */
  async onRelease(shard: number, isOurs: () => boolean): Promise<void> {
    const epoch = this.#served.get(shard);
    const isSaved = epoch === undefined || (await this.#saveLast(shard, epoch, isOurs));
    this.#unread.delete(shard);
    if (!isSaved) return;
    this.#drop(shard);
    this.#served.delete(shard);
    this.#dirty.delete(shard);
  }

  async #saveLast(shard: number, epoch: number, isOurs: () => boolean): Promise<boolean> {
    const { clock, timers, logger } = this.#options;
    const until = clock.monotonic() + LAST_SAVE_TIMEOUT;
    while (clock.monotonic() < until) {
      const remaining = (until - clock.monotonic()) as Millis;
      if (isOurs() && (await within(timers, remaining, this.#save(shard, epoch)))) {
        this.#hasLost = false;
        return true;
      }
      await new Promise<void>((resolve) => timers.after(LAST_SAVE_INTERVAL, resolve));
    }
    if (!this.#hasLost)
      logger.error(
        { event: 'agents_not_saved', shard },
        'cannot save agents: if this host stops, what they learned since their last save is lost',
      );
    this.#hasLost = true;
    return false;
  }

  /**
   * Reads again what the store did not give, and saves a few changed shards; `epochOf`: null for a
   * shard that this host does not serve.
   */
  onTurn(epochOf: (shard: number) => number | null): void {
    for (const [shard, unread] of this.#unread)
      if (unread.hasFailed && epochOf(shard) !== null) void this.#load(shard, unread);
    let saves = 0;
    for (const shard of this.#dirty) {
      if (saves === SAVES_A_TURN) return;
      const epoch = epochOf(shard);
      // If the lease has only lapsed, the shard is saved when it is back.
      if (epoch === null || this.#unread.has(shard)) continue;
      this.#dirty.delete(shard);
      saves++;
      void this.#save(shard, epoch);
    }
  }

  /** Another host owned the shard in between: what this host remembers is outdated. */
  #drop(shard: number): void {
    const { agents, sizing } = this.#options;
    for (const fn of [...(sizing?.names() ?? [])]) if (shardOf(fn) === shard) sizing?.forget(fn);
    for (const fn of [...agents.keys()]) if (shardOf(fn) === shard) agents.delete(fn);
    for (const fn of [...this.#suspended.keys()])
      if (shardOf(fn) === shard) this.#suspended.delete(fn);
  }

  async #load(shard: number, unread: UnreadObject): Promise<void> {
    unread.hasFailed = false;
    if (this.#reading >= PARALLEL)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#reading++;
    const isCurrent = (): boolean => this.#unread.get(shard) === unread;
    try {
      const data = await this.#objects.get(shardObject(shard));
      if (!isCurrent()) return;
      const stored = data && decodeShard(data);
      // No other host has saved it since this one owned it: the state in memory is not older.
      if (stored !== null && stored.epoch > (this.#served.get(shard) ?? -1))
        this.#take(shard, stored, unread.pauses);
      this.#markRead(shard, unread);
    } catch (error) {
      if (!isCurrent()) return;
      unread.hasFailed = error instanceof GleanerError && !(error instanceof StoreError);
      // A damaged object is replaced.
      if (!unread.hasFailed) this.#markRead(shard, unread);
      this.#failed(
        shard,
        error,
        'cannot load suspended agents: their functions continue from what this host still has of ' +
          `them, or from the base policy${unread.hasFailed ? '; retry at the next turn' : ''}`,
      );
    } finally {
      this.#reading--;
      this.#waiting.shift()?.();
    }
  }

  #markRead(shard: number, { epoch }: UnreadObject): void {
    this.#unread.delete(shard);
    this.#served.set(shard, epoch);
  }

  #take(shard: number, stored: z.output<typeof shardSchema>, pauses: UnreadObject['pauses']): void {
    const { sizing, clock, logger } = this.#options;
    this.#drop(shard);
    const unusable: string[] = [];
    for (const [fn, saved] of Object.entries(stored.agents)) {
      if (shardOf(fn) !== shard) continue;
      const parsed = savedAgentSchema.safeParse(saved);
      if (parsed.success) this.#suspended.set(fn, parsed.data);
      else unusable.push(`${fn}: ${firstIssue(parsed.error)}`);
    }
    for (const [fn, here] of pauses) {
      const saved = this.#suspended.get(fn) ?? here;
      if (saved !== null) this.#suspended.set(fn, { ...saved, paused: here?.paused });
    }
    this.counts.unusable += unusable.length;
    if (unusable.length > 0)
      logger.warn(
        { shard, count: unusable.length, errors: unusable.slice(0, NAMED_MAX) },
        'cannot use some suspended agents: their functions restart from the base policy',
      );
    for (const [fn, saved] of Object.entries(stored.sizing))
      if (
        shardOf(fn) === shard &&
        sizing?.loadState(fn, saved, clock.monotonic(), clock.wall()) === false
      )
        this.counts.unusable++;
  }

  /** False: it failed, or may not replace what is not read yet. True also without changes. */
  async #save(shard: number, epoch: number): Promise<boolean> {
    if (this.#unread.has(shard)) return !this.#dirty.has(shard);
    const { agents, clock, sizing } = this.#options;
    const now = clock.monotonic();
    const saved: Record<string, SavedAgent> = {};
    let size = 0;
    const add = (fn: string, one: SavedAgent): void => {
      size += JSON.stringify(one).length + fn.length;
      if (size < BYTES_MAX / 2) saved[fn] = one;
      // A pause outlasts a state that does not fit.
      else if (one.paused) saved[fn] = { ...one, state: null };
    };
    for (const [fn, agent] of agents.entries()) {
      const one = shardOf(fn) === shard ? agent.saveState(now) : null;
      if (one) add(fn, one);
    }
    for (const [fn, one] of this.#suspended.entries())
      if (shardOf(fn) === shard && !(fn in saved)) add(fn, one);
    const known: Record<string, unknown> = {};
    for (const fn of sizing?.names() ?? []) {
      const one = shardOf(fn) === shard ? (sizing?.saveState(fn, now, clock.wall()) ?? null) : null;
      if (one === null) continue;
      size += JSON.stringify(one).length + fn.length;
      if (size < BYTES_MAX / 2) known[fn] = one;
    }
    if (size === 0) return true;
    try {
      await this.#objects.put(
        shardObject(shard),
        encodeMessage({ v: VERSION, shard, epoch, agents: saved, sizing: known }),
      );
      this.counts.saves++;
      return true;
    } catch (error) {
      this.#dirty.add(shard);
      this.#failed(shard, error, 'cannot save agents; retry at the next turn');
      return false;
    }
  }

  #failed(shard: number, error: unknown, what: string): void {
    this.counts.failures++;
    this.#log({ shard, error: messageOf(error).slice(0, 300) }, what);
  }
}

/** False if it has not ended by then. */
function within<T>(timers: Timers, timeout: Millis, work: Promise<T>): Promise<T | false> {
  let cancel: Cancel = () => {};
  const late = new Promise<false>((resolve) => {
    cancel = timers.after(timeout, () => resolve(false));
  });
  return Promise.race([work, late]).finally(() => cancel());
}

/** Throws, with one line as message, if it is damaged. */
function decodeShard(data: Uint8Array): z.output<typeof shardSchema> {
  if (data.byteLength > BYTES_MAX) throw new Error(`${data.byteLength} bytes`);
  const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data));
  const parsed = shardSchema.safeParse(value);
  if (!parsed.success) throw new Error(firstIssue(parsed.error));
  return parsed.data;
}

function firstIssue({ issues }: z.ZodError): string {
  const { path, message } = issues[0]!;
  return `${path.join('.')}: ${message}`;
}
