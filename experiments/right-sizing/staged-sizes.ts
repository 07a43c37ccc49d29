import type { Decision, ResourceManager, View } from '../../agents/index.js';
import { SizeAdviser } from '../../agents/tuning/index.js';
import { type Bytes, MIB, type Millis } from '../../config/index.js';
import {
  type JournalEntry,
  keptSinceKill,
  killedSizes,
  nextWave,
  openChanges,
  recommendSizes,
  type SizeRecommendation,
  type SizingInputs,
  type SizingRules,
} from '../../openwhisk-plugin/openwhisk-api/index.js';
import type { SizeRules } from '../../rules/index.js';

export interface StagedOptions {
  readonly rules: SizingRules;
  /** No action is changed before, ms: what was seen until then is the evidence. */
  readonly from: number;
  /** Between two turns of `gleaner actions follow`, ms; default: a minute. */
  readonly every?: number;
  /** Default: the product's. */
  readonly sizes?: SizeRules;
  /** Default: the product's. */
  readonly recommend?: (inputs: SizingInputs) => SizeRecommendation[];
}

/** What was done to actions in a run. */
export interface StagedCounts {
  changes: number;
  /** Containers of the old revisions: cold starts once. */
  costs: number;
  kept: number;
  undone: number;
  /** Nominal memory taken back, at the time of each change: MiB x containers. */
  freedMiB: number;
  /** Cold starts an hour that the estimate promised at the first turn with a change. */
  promised: number | null;
}

/**
 * The product's right-sizing as a manager of the simulator: the same evidence, recommendations and
 * waves, with a list in memory for its journal. A change is in force at the function's next step,
 * as only then a manager is asked; an OOM kill undoes at once.
 */
export class StagedSizes implements ResourceManager<null> {
  readonly name = 'staged-sizes';
  readonly counts: StagedCounts = {
    changes: 0,
    costs: 0,
    kept: 0,
    undone: 0,
    freedMiB: 0,
    promised: null,
  };
  readonly adviser: SizeAdviser;
  readonly #options: StagedOptions;
  readonly #entries: JournalEntry[] = [];
  /** By function: what its user asked for, and what it has now, bytes. */
  readonly #users = new Map<string, number>();
  readonly #sizes = new Map<string, number>();
  #nextTurn: number;

  constructor(options: StagedOptions) {
    this.#options = options;
    this.adviser = new SizeAdviser(65_536, options.sizes);
    this.#nextTurn = options.from;
  }

  initialState(): null {
    return null;
  }

  phase(): string {
    return 'managing';
  }

  decide(state: null, { observation }: View, now: Millis): { state: null; decision: Decision } {
    const { function: fn } = observation;
    const limit = observation.user.memory;
    if (!this.#users.has(fn)) this.#users.set(fn, limit);
    this.adviser.observe(observation, now);
    if (observation.oomKills > 0 && limit === this.#sizes.get(fn)) this.#undo(fn, limit / MIB, now);
    if (now >= this.#nextTurn) {
      this.#turn(now);
      this.#nextTurn = now + (this.#options.every ?? 60_000);
    }
    const user = this.#users.get(fn)!;
    const size = this.#sizes.get(fn) ?? user;
    return { state, decision: { nominalMemory: size as Bytes, actions: [0, 0, 0] } };
  }

  #turn(now: Millis): void {
    const { rules } = this.#options;
    const [entries, hosts] = [this.#entries, this.adviser.hosts(now)];
    const inputs = {
      advice: this.adviser.advice(now),
      hosts,
      peaks: this.adviser.peaks,
      open: openChanges(entries),
      killed: killedSizes(entries),
      rules,
      now,
    };
    const recommendations = (this.#options.recommend ?? recommendSizes)(inputs);
    const wave = nextWave(recommendations, inputs, keptSinceKill(entries));
    for (const { change, size } of wave.killed) this.#undo(change.function, size, now);
    for (const fn of wave.kept) entries.push({ v: 1, kind: 'kept', function: fn, at: now });
    this.counts.kept += wave.kept.length;
    const made = new Map(recommendations.map((one) => [one.function, one]));
    if (wave.requests.length > 0) this.counts.promised ??= promisedBy(recommendations);
    for (const { function: fn } of wave.requests) this.#change(made.get(fn)!, now);
  }

  #change({ function: fn, to, frees, costs }: SizeRecommendation, now: Millis): void {
    const line = { v: 1 as const, function: fn, at: now };
    const original = { memory: this.#users.get(fn)! / MIB };
    const limits = { version: '0.0.1', original, to: { memory: to / MIB } };
    this.#entries.push({ ...line, kind: 'intent', ...limits, why: 'right-size' });
    this.#entries.push({ ...line, kind: 'done', version: '0.0.2' });
    this.#sizes.set(fn, to);
    this.counts.changes++;
    this.counts.costs += costs;
    this.counts.freedMiB += frees / MIB;
  }

  #undo(fn: string, memory: number, now: Millis): void {
    this.#entries.push({ v: 1, kind: 'killed', function: fn, at: now, memory });
    this.#sizes.delete(fn);
    this.counts.undone++;
  }
}

const promisedBy = (recommendations: readonly SizeRecommendation[]): number =>
  recommendations.reduce(
    (sum, { saves, verdict }) => sum + (verdict === 'ready' ? (saves ?? 0) : 0),
    0,
  );
