import type { Mode } from '../../broker/index.js';
import type { FunctionOverride } from '../../config/index.js';
import { isExcluded, overrideFor } from '../../config/index.js';

/** What the configuration says of one function. */
export type FunctionSettings = Omit<FunctionOverride, 'match'>;

export interface ModeSettings {
  readonly mode: Mode;
  readonly exclude: readonly string[];
  readonly overrides: readonly FunctionOverride[];
}

/**
 * Which mode a function is in. Later ones win: configuration for all, configuration for the function, key-value for all,
 * key-value (or the service) for the function. An excluded function is only ever observed.
 */
export class Modes {
  #settings: ModeSettings;
  #forAll: Mode | undefined;
  readonly #forFunction = new Map<string, Mode>();
  readonly #paused = new Set<string>();
  readonly #changed: (reason: string, action: string | null) => void;

  /**
   * `changed` is called after any change (of one function, else null), for the hook to read the modes anew and restore what is
   * no longer enforced.
   */
  constructor(settings: ModeSettings, changed: (reason: string, action: string | null) => void) {
    this.#settings = settings;
    this.#changed = changed;
  }

  configure(settings: ModeSettings): void {
    this.#settings = settings;
    this.#changed('configuration', null);
  }

  get global(): Mode {
    return this.#forAll ?? this.#settings.mode;
  }

  of(action: string): Mode {
    if (isExcluded(this.#settings.exclude, action)) return 'observe';
    const own = this.#forFunction.get(action);
    if (own !== undefined) return own;
    if (this.#forAll !== undefined) return this.#forAll;
    return this.settingsOf(action).mode ?? this.#settings.mode;
  }

  isPaused(action: string): boolean {
    return this.#paused.has(action);
  }

  paused(): readonly string[] {
    return [...this.#paused];
  }

  settingsOf(action: string): FunctionSettings {
    return overrideFor(this.#settings.overrides, action);
  }

  /** Undefined: as configured. */
  setGlobal(mode: Mode | undefined, reason: string): void {
    if (this.#forAll === mode) return;
    this.#forAll = mode;
    this.#changed(reason, null);
  }

  setFunction(action: string, mode: Mode | undefined, reason: string): void {
    if (this.#forFunction.get(action) === mode) return;
    if (mode === undefined) this.#forFunction.delete(action);
    else this.#forFunction.set(action, mode);
    this.#changed(reason, action);
  }

  pause(action: string, paused: boolean, reason: string): void {
    if (paused === this.#paused.has(action)) return;
    if (paused) this.#paused.add(action);
    else this.#paused.delete(action);
    this.#changed(`${paused ? 'paused' : 'resumed'} by ${reason}`, action);
  }
}
