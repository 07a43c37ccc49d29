import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { type Logger, type ObjectStore, warnOnce } from '../../../broker/index.js';
import { encodeMessage } from '../../../broker/messages/index.js';
import {
  type Cancel,
  type Clock,
  type Micros,
  type Millis,
  messageOf,
  type Timers,
} from '../../../config/index.js';
import { type Agent, type SavedAgent, savedAgentSchema } from '../agent.js';
import { shardOf } from './plan.js';

const shardSchema = z.object({
  v: z.literal(1),
  shard: z.int().min(0),
  epoch: z.int().min(0),
  agents: z.record(z.string(), savedAgentSchema),
  /** Checked by whoever takes them up. */
  sizing: z.record(z.string(), z.unknown()).default({}),
});

/** What is known of functions beside their agents, and goes where they go. */
export interface Evidence {
  names(): Iterable<string>;
  /** Plain JSON; null: nothing. */
  saveState(fn: string, now: Millis, wall: Micros): unknown;
  /** False where it cannot be used. */
  loadState(fn: string, saved: unknown, now: Millis, wall: Micros): boolean;
  forget(fn: string): void;
}

/**
 * One object per shard; what is larger than this is not read, and the rest of what would be larger
 * is not written.
 */
const BYTES_MAX = 8 * 1024 * 1024;
/**
 * Agents at rest in memory: those that are not resident, of our shards. The one at rest for longest
 * goes.
 */
const SAVED_MAX = 20_000;
/** Shards that are put by a turn, and reads at once: neither may be a storm. */
const SAVES_A_TURN = 4;
const PARALLEL = 4;
/**
 * A store that does not answer must not keep functions without a host: then their agents begin
 * anew.
 */
const LOAD_TIMEOUT = 1500 as Millis;

export interface HandOverOptions {
  readonly objects: ObjectStore;
  readonly agents: LRUCache<string, Agent>;
  readonly sizing?: Evidence;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

export const shardObject = (shard: number): string => `agents-shard-${shard}`;

/**
 * Where agents rest when their host lets go of them: of a shard that goes to another host, and of
 * functions that have not been seen for long. They are put by in the object store, one object per
 * shard, a few shards a turn, and all of a shard's when it is given away; a crash loses what came
 * since. It is advice and never needed: a function whose agent is not found begins anew.
 */
export class HandOver {
  readonly #options: HandOverOptions;
  readonly #tell: (fields: object, message: string) => void;
  readonly #resting = new LRUCache<string, SavedAgent>({ max: SAVED_MAX });
  readonly #dirty = new Set<number>();
  /** By shard: the epoch under which it was ours last. */
  readonly #served = new Map<number, number>();
  #reading = 0;
  readonly #waiting: (() => void)[] = [];
  /** Agents that came back, and those that could not. */
  readonly counts = { loaded: 0, unusable: 0, saves: 0, failures: 0 };

  constructor(options: HandOverOptions) {
    this.#options = options;
    this.#tell = warnOnce(options.logger);
  }

  /** A new agent goes on from where its function's last one rested. */
  loadState(agent: Agent): void {
    const saved = this.#resting.get(agent.fn);
    if (!saved) return;
    this.#resting.delete(agent.fn);
    if (agent.loadState(saved, this.#options.clock.monotonic())) this.counts.loaded++;
    else this.counts.unusable++;
  }

  decided(agent: Agent): void {
    if (agent.isSavable || this.#options.sizing !== undefined) this.#dirty.add(shardOf(agent.fn));
  }

  /** No longer resident. */
  saveState(agent: Agent): void {
    const saved = agent.saveState(this.#options.clock.monotonic());
    if (saved) this.#resting.set(agent.fn, saved);
  }

  /** The function was not called for so long that nothing of it is kept. */
  forget(fn: string): void {
    this.#options.sizing?.forget(fn);
    if (this.#resting.delete(fn)) this.#dirty.add(shardOf(fn));
  }

  /** The shard has become ours: what its last host put by is read, unless that was this one. */
  async onAcquired(shard: number, epoch: number): Promise<void> {
    const before = this.#served.get(shard) ?? -1;
    this.#served.set(shard, epoch);
    let cancel: Cancel = () => {};
    const timeout = new Promise<void>((resolve) => {
      cancel = this.#options.timers.after(LOAD_TIMEOUT, resolve);
    });
    await Promise.race([this.#load(shard, before), timeout]);
    cancel();
  }

  /** The shard goes to another host. Never rejects. */
  async onRelease(shard: number): Promise<void> {
    const epoch = this.#served.get(shard);
    if (epoch !== undefined) await this.#save(shard, epoch);
    this.#drop(shard);
    this.#dirty.delete(shard);
  }

  /** Puts a few shards by; `epochOf`: null where a shard is not ours. */
  onTurn(epochOf: (shard: number) => number | null): void {
    let saves = 0;
    for (const shard of this.#dirty) {
      if (saves === SAVES_A_TURN) return;
      this.#dirty.delete(shard);
      const epoch = epochOf(shard);
      if (epoch === null) continue;
      saves++;
      void this.#save(shard, epoch);
    }
  }

  /** Another host has had it since: what is remembered here is older. */
  #drop(shard: number): void {
    const { agents, sizing } = this.#options;
    for (const fn of [...(sizing?.names() ?? [])]) if (shardOf(fn) === shard) sizing?.forget(fn);
    for (const fn of [...agents.keys()]) if (shardOf(fn) === shard) agents.delete(fn);
    for (const fn of [...this.#resting.keys()]) if (shardOf(fn) === shard) this.#resting.delete(fn);
  }

  async #load(shard: number, before: number): Promise<void> {
    if (this.#reading >= PARALLEL)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#reading++;
    try {
      const data = await this.#options.objects.get(shardObject(shard));
      if (data === null) return;
      if (data.byteLength > BYTES_MAX) throw new Error(`${data.byteLength} bytes`);
      const stored = shardSchema.parse(
        JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data)),
      );
      // Nobody else has put anything by since it was ours: what is here is as new or newer.
      if (stored.epoch <= before) return;
      this.#drop(shard);
      for (const [fn, saved] of Object.entries(stored.agents))
        if (shardOf(fn) === shard) this.#resting.set(fn, saved);
      const { sizing, clock } = this.#options;
      for (const [fn, saved] of Object.entries(stored.sizing))
        if (
          shardOf(fn) === shard &&
          sizing?.loadState(fn, saved, clock.monotonic(), clock.wall()) === false
        )
          this.counts.unusable++;
    } catch (error) {
      this.#failed(shard, error, 'agents at rest cannot be read: their functions begin anew');
    } finally {
      this.#reading--;
      this.#waiting.shift()?.();
    }
  }

  async #save(shard: number, epoch: number): Promise<void> {
    const { agents, clock, sizing, objects } = this.#options;
    const now = clock.monotonic();
    const saved: Record<string, SavedAgent> = {};
    let size = 0;
    const add = (fn: string, one: SavedAgent): void => {
      size += JSON.stringify(one).length + fn.length;
      if (size < BYTES_MAX / 2) saved[fn] = one;
    };
    for (const [fn, agent] of agents.entries()) {
      const one = shardOf(fn) === shard ? agent.saveState(now) : null;
      if (one) add(fn, one);
    }
    for (const [fn, one] of this.#resting.entries())
      if (shardOf(fn) === shard && !(fn in saved)) add(fn, one);
    const known: Record<string, unknown> = {};
    for (const fn of sizing?.names() ?? []) {
      const one = shardOf(fn) === shard ? (sizing?.saveState(fn, now, clock.wall()) ?? null) : null;
      if (one === null) continue;
      size += JSON.stringify(one).length + fn.length;
      if (size < BYTES_MAX / 2) known[fn] = one;
    }
    if (size === 0) return;
    try {
      await objects.put(
        shardObject(shard),
        encodeMessage({ v: 1, shard, epoch, agents: saved, sizing: known }),
      );
      this.counts.saves++;
    } catch (error) {
      this.#dirty.add(shard);
      this.#failed(shard, error, 'agents at rest cannot be written');
    }
  }

  #failed(shard: number, error: unknown, what: string): void {
    this.counts.failures++;
    this.#tell({ shard, error: messageOf(error).slice(0, 300) }, what);
  }
}
