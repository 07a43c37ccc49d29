import { LRUCache } from 'lru-cache';
import { isFunctionName } from '../../broker/index.js';
import { MIB, type Millis } from '../../config/index.js';
import { FunctionRecord, Revision } from '../control/index.js';
import type { ActivationPolicy, Decider, FunctionState, UserLimits } from '../decision/index.js';
import type { Modes } from './modes.js';

/**
 * The functions of this host. Of those without containers the one whose newest container started
 * first is removed, in the decider's table too: both have the same order.
 */
export class FunctionRegistry {
  readonly #decider: Decider;
  readonly #modes: Modes;
  readonly #records: LRUCache<string, FunctionRecord>;
  /** The same sorted by name: a sort for each page of `inspect` would delay the tap. */
  readonly #byName: FunctionRecord[] = [];
  /**
   * Removed functions with containers, because all others had some, too: the kill switch and
   * modes must reach them.
   */
  readonly #evicted = new Map<string, FunctionRecord>();
  readonly #policyOf: (record: FunctionRecord) => ActivationPolicy | null;
  #killed = false;

  /** `policyOf`: the function's own policy, or null for the host's. */
  constructor(
    decider: Decider,
    modes: Modes,
    max: number,
    policyOf: (record: FunctionRecord) => ActivationPolicy | null,
  ) {
    this.#policyOf = policyOf;
    this.#decider = decider;
    this.#modes = modes;
    this.#records = new LRUCache({
      max,
      dispose: (record, action, reason) => {
        if (reason !== 'evict') return;
        this.#byName.splice(placeOf(this.#byName, action), 1);
        if (record.containers === 0) return;
        for (const [name, other] of this.#evicted)
          if (other.containers === 0) this.#evicted.delete(name);
        this.#evicted.set(action, record);
      },
    });
  }

  /** Null for a name that OpenWhisk does not allow. */
  revision(action: string, version: string, user: UserLimits, now: Millis): Revision | null {
    let record = this.#records.get(action) ?? this.#restoreRecord(action);
    if (record === undefined) {
      if (!isFunctionName(action)) return null;
      record = new FunctionRecord(action);
      this.#apply(record);
      this.#add(record);
    }
    const state = this.#decider.functionState(action, version, user, now);
    if (record.revision?.state === state) return record.revision;
    this.#configure(record, state);
    record.revision = new Revision(record, version, state);
    return record.revision;
  }

  get(action: string): FunctionRecord | undefined {
    return this.#records.peek(action) ?? this.#evicted.get(action);
  }

  values(): Iterable<FunctionRecord> {
    return this.#records.values();
  }

  /** Sorted by name. */
  get byName(): readonly FunctionRecord[] {
    return this.#byName;
  }

  get size(): number {
    return this.#records.size;
  }

  /** Applies changed modes and settings to every function. */
  refresh(killed: boolean): void {
    this.#killed = killed;
    for (const record of this.#records.values()) this.#apply(record);
    for (const [action, record] of this.#evicted) {
      if (record.containers > 0) this.#apply(record);
      else this.#evicted.delete(action);
    }
    // Older versions too: their containers may still run activations.
    for (const state of this.#decider.functions.all()) {
      const record = this.get(state.action);
      if (record !== undefined) this.#configure(record, state);
    }
  }

  /** As {@link refresh}, of one function. True if its mode has changed. */
  refreshOne(action: string): boolean {
    const record = this.get(action);
    if (record === undefined) return false;
    const { mode } = record;
    this.#apply(record);
    for (const state of this.#decider.functions.versions(action)) this.#configure(record, state);
    return record.mode !== mode;
  }

  #restoreRecord(action: string): FunctionRecord | undefined {
    const record = this.#evicted.get(action);
    if (record === undefined) return undefined;
    this.#evicted.delete(action);
    this.#add(record);
    return record;
  }

  #add(record: FunctionRecord): void {
    if (this.#records.size === this.#records.max) this.#keepThoseWithContainers();
    this.#records.set(record.action, record);
    this.#byName.splice(placeOf(this.#byName, record.action), 0, record);
  }

  /** Moves them away from the end at which the next one is removed. */
  #keepThoseWithContainers(): void {
    for (let left = this.#records.size; left > 0; left--) {
      const action = this.#records.rkeys().next().value!;
      if (this.#records.peek(action)!.containers === 0) return;
      this.#records.get(action);
      this.#decider.functions.touch(action);
    }
  }

  #apply(record: FunctionRecord): void {
    record.settings = this.#modes.settingsOf(record.action);
    record.mode = this.#modes.of(record.action);
    record.paused = this.#modes.isPaused(record.action);
    record.enforced = record.mode === 'enforce' && !record.paused && !this.#killed;
  }

  #configure(record: FunctionRecord, state: FunctionState): void {
    const { cpuMillicores, sloMs, memoryPolicy, resized } = record.settings;
    // An owner may ask for more than the host has.
    state.configuredCpu = Math.min(cpuMillicores ?? Number.NaN, this.#decider.capacity.cpu);
    // Only for the revision that was right-sized: its owner may have updated the action since.
    const ours = resized !== undefined && state.userMemory === Math.round(resized.toMiB * MIB);
    state.rightSizeFactor = ours ? Math.max(1, resized.fromMiB / resized.toMiB) : 1;
    state.configuredSlo = sloMs ?? Number.NaN;
    state.memoryPolicy = memoryPolicy ?? this.#decider.settings.memoryPolicy;
    this.#decider.setFunctionPolicy(state, this.#policyOf(record));
  }
}

/** Index of the first of these sorted functions whose name is not below `action`. */
function placeOf(sorted: readonly FunctionRecord[], action: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]!.action < action) low = middle + 1;
    else high = middle;
  }
  return low;
}
