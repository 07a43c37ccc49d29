import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { encodeMessage, firstWarns, type Logger, type ObjectStore } from '../../broker/index.js';
import { type Cancel, type Clock, type Micros, type Millis, messageOf, type Timers } from '../../config/index.js';
import { type Agent, type Rested, restedSchema } from '../agent.js';
import { shardOf } from './plan.js';

const shardSchema = z.object({
  v: z.literal(1),
  shard: z.int().min(0),
  epoch: z.int().min(0),
  agents: z.record(z.string(), restedSchema),
  /** Checked by whoever takes them up. */
  evidence: z.record(z.string(), z.unknown()).default({}),
});

/** What is known of functions beside their agents, and goes where they go. */
export interface Evidence {
  names(): Iterable<string>;
  /** Plain JSON; null: nothing. */
  rest(fn: string, now: Millis, wall: Micros): unknown;
  /** False where it cannot be used. */
  wake(fn: string, rested: unknown, now: Millis, wall: Micros): boolean;
  forget(fn: string): void;
}

/** One object per shard; what is larger than this is not read, and the rest of what would be larger is not written. */
const BYTES_MAX = 8 * 1024 * 1024;
/** Agents at rest in memory: those that are not resident, of our shards. The one at rest for longest goes. */
const RESTING_MAX = 20_000;
/** Shards that are put by a turn, and reads at once: neither may be a storm. */
const SAVES_A_TURN = 4;
const PARALLEL = 4;
/** A store that does not answer must not keep functions without a host: then their agents begin anew. */
const PATIENCE = 1500 as Millis;

export interface HandOverOptions {
  readonly objects: ObjectStore;
  readonly agents: LRUCache<string, Agent>;
  readonly evidence?: Evidence;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

export const shardObject = (shard: number): string => `agents-shard-${shard}`;

/**
 * Where agents rest when their host lets go of them: of a shard that goes to another host, and of functions that have not been seen
 * for long. They are put by in the object store, one object per shard, a few shards a turn, and all of a shard's when it is given
 * away; a crash loses what came since. It is advice and never needed: a function whose agent is not found begins anew.
 */
export class HandOver {
  readonly #options: HandOverOptions;
  readonly #tell: (fields: object, message: string) => void;
  readonly #resting = new LRUCache<string, Rested>({ max: RESTING_MAX });
  readonly #dirty = new Set<number>();
  /** By shard: the epoch under which it was ours last. */
  readonly #served = new Map<number, number>();
  #reading = 0;
  readonly #waiting: (() => void)[] = [];
  /** Agents that came back, and those that could not. */
  readonly counts = { woken: 0, unusable: 0, saves: 0, failures: 0 };

  constructor(options: HandOverOptions) {
    this.#options = options;
    this.#tell = firstWarns(options.logger);
  }

  /** A new agent goes on from where its function's last one rested. */
  wake(agent: Agent): void {
    const rested = this.#resting.get(agent.fn);
    if (!rested) return;
    this.#resting.delete(agent.fn);
    if (agent.wake(rested, this.#options.clock.monotonic())) this.counts.woken++;
    else this.counts.unusable++;
  }

  decided(agent: Agent): void {
    if (agent.rests || this.#options.evidence !== undefined) this.#dirty.add(shardOf(agent.fn));
  }

  /** No longer resident. */
  rest(agent: Agent): void {
    const rested = agent.rest(this.#options.clock.monotonic());
    if (rested) this.#resting.set(agent.fn, rested);
  }

  /** The function was not called for so long that nothing of it is kept. */
  forget(fn: string): void {
    this.#options.evidence?.forget(fn);
    if (this.#resting.delete(fn)) this.#dirty.add(shardOf(fn));
  }

  /** The shard has become ours: what its last host put by is read, unless that was this one. */
  async taken(shard: number, epoch: number): Promise<void> {
    const before = this.#served.get(shard) ?? -1;
    this.#served.set(shard, epoch);
    let cancel: Cancel = () => {};
    const patience = new Promise<void>((resolve) => {
      cancel = this.#options.timers.after(PATIENCE, resolve);
    });
    await Promise.race([this.#load(shard, before), patience]);
    cancel();
  }

  /** The shard goes to another host. Never rejects. */
  async giving(shard: number): Promise<void> {
    const epoch = this.#served.get(shard);
    if (epoch !== undefined) await this.#save(shard, epoch);
    this.#drop(shard);
    this.#dirty.delete(shard);
  }

  /** Puts a few shards by; `epochOf`: null where a shard is not ours. */
  turned(epochOf: (shard: number) => number | null): void {
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
    const { agents, evidence } = this.#options;
    for (const fn of [...(evidence?.names() ?? [])]) if (shardOf(fn) === shard) evidence?.forget(fn);
    for (const fn of [...agents.keys()]) if (shardOf(fn) === shard) agents.delete(fn);
    for (const fn of [...this.#resting.keys()]) if (shardOf(fn) === shard) this.#resting.delete(fn);
  }

  async #load(shard: number, before: number): Promise<void> {
    if (this.#reading >= PARALLEL) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#reading++;
    try {
      const data = await this.#options.objects.get(shardObject(shard));
      if (data === null) return;
      if (data.byteLength > BYTES_MAX) throw new Error(`${data.byteLength} bytes`);
      const stored = shardSchema.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data)));
      // Nobody else has put anything by since it was ours: what is here is as new or newer.
      if (stored.epoch <= before) return;
      this.#drop(shard);
      for (const [fn, rested] of Object.entries(stored.agents))
        if (shardOf(fn) === shard) this.#resting.set(fn, rested);
      const { evidence, clock } = this.#options;
      for (const [fn, rested] of Object.entries(stored.evidence))
        if (shardOf(fn) === shard && evidence?.wake(fn, rested, clock.monotonic(), clock.wall()) === false)
          this.counts.unusable++;
    } catch (error) {
      this.#failed(shard, error, 'agents at rest cannot be read: their functions begin anew');
    } finally {
      this.#reading--;
      this.#waiting.shift()?.();
    }
  }

  async #save(shard: number, epoch: number): Promise<void> {
    const { agents, clock, evidence, objects } = this.#options;
    const now = clock.monotonic();
    const rested: Record<string, Rested> = {};
    let size = 0;
    const add = (fn: string, one: Rested): void => {
      size += JSON.stringify(one).length + fn.length;
      if (size < BYTES_MAX / 2) rested[fn] = one;
    };
    for (const [fn, agent] of agents.entries()) {
      const one = shardOf(fn) === shard ? agent.rest(now) : null;
      if (one) add(fn, one);
    }
    for (const [fn, one] of this.#resting.entries()) if (shardOf(fn) === shard && !(fn in rested)) add(fn, one);
    const known: Record<string, unknown> = {};
    for (const fn of evidence?.names() ?? []) {
      const one = shardOf(fn) === shard ? (evidence?.rest(fn, now, clock.wall()) ?? null) : null;
      if (one === null) continue;
      size += JSON.stringify(one).length + fn.length;
      if (size < BYTES_MAX / 2) known[fn] = one;
    }
    if (size === 0) return;
    try {
      await objects.put(shardObject(shard), encodeMessage({ v: 1, shard, epoch, agents: rested, evidence: known }));
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
