import type { ActionSettings } from '../../broker/messages/index.js';
import {
  type Config,
  isExcluded,
  type Mode,
  modes as modeOrder,
  overrideFor,
} from '../../config/index.js';
import type { FunctionSettings } from '../control/index.js';

type ModeSettings = Pick<Config, 'mode' | 'functions'>;

/**
 * The mode of each function. Later ones win: configuration for all, configuration for the function,
 * key-value for all, key-value (or the service) for the function. The owner's annotation can
 * restrict the result and never extend it. An excluded function is always observed.
 */
export class Modes {
  #settings: ModeSettings;
  #forAll: Mode | undefined;
  readonly #forFunction = new Map<string, Mode>();
  readonly #paused = new Set<string>();
  readonly #owners = new Map<string, ActionSettings>();
  readonly #changed: (reason: string, action: string | null) => void;
  readonly #annotated: (reason: string, action: string) => void;

  /**
   * `changed`: after any change but those of annotations, of one function or (null) of all.
   * `annotated`: after a change of a function's annotations, all of which arrive at the start.
   */
  constructor(
    settings: ModeSettings,
    changed: (reason: string, action: string | null) => void,
    annotated: (reason: string, action: string) => void,
  ) {
    this.#settings = settings;
    this.#changed = changed;
    this.#annotated = annotated;
  }

  configure(settings: ModeSettings): void {
    this.#settings = settings;
    this.#changed('configuration', null);
  }

  get global(): Mode {
    return this.#forAll ?? this.#settings.mode;
  }

  of(action: string): Mode {
    const { mode, functions } = this.#settings;
    if (isExcluded(functions.exclude, action)) return 'observe';
    const configured = overrideFor(functions.overrides, action).mode ?? mode;
    const allowed = this.#forFunction.get(action) ?? this.#forAll ?? configured;
    const owner = this.#owners.get(action);
    if (owner === undefined) return allowed;
    // An unreadable annotation was meant as some restriction, so the strictest one applies.
    if (owner.unreadable.length > 0 || contradicts(this.settingsOf(action).bounds))
      return 'observe';
    return owner.mode !== undefined && modeOrder.indexOf(owner.mode) < modeOrder.indexOf(allowed)
      ? owner.mode
      : allowed;
  }

  isPaused(action: string): boolean {
    return this.#paused.has(action);
  }

  settingsOf(action: string): FunctionSettings {
    const configured = overrideFor(this.#settings.functions.overrides, action);
    const owner = this.#owners.get(action);
    if (owner === undefined) return configured;
    const { sloMs, cpuMillicores, bounds, resized } = owner;
    const both = withinBoth(configured.bounds, bounds);
    return {
      ...(sloMs === undefined ? {} : { sloMs }),
      ...(cpuMillicores === undefined ? {} : { cpuMillicores }),
      ...configured,
      ...(both === undefined ? {} : { bounds: both }),
      ...(resized === undefined ? {} : { resized }),
    };
  }

  /** Settings from the action's annotations; null if there are none any more. */
  annotate(action: string, settings: ActionSettings | null): void {
    const before = this.#owners.get(action);
    if (settings === null) this.#owners.delete(action);
    else this.#owners.set(action, settings);
    if (sameSettings(before ?? null, settings)) return;
    const bad = settings?.unreadable ?? [];
    this.#annotated(
      bad.length > 0 ? `annotations cannot be read: ${bad.join(', ')}` : 'annotations',
      action,
    );
  }

  /** Of one function, or with null of all. Undefined restores the configured mode. */
  set(mode: Mode | undefined, action: string | null, reason: string): void {
    const before = action === null ? this.#forAll : this.#forFunction.get(action);
    if (before === mode) return;
    if (action === null) this.#forAll = mode;
    else if (mode === undefined) this.#forFunction.delete(action);
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

type Bounds = NonNullable<FunctionSettings['bounds']>;
type Bound = Bounds['memoryMiB'];

function tighter(a: Bound, b: Bound): Bound {
  if (a === undefined || b === undefined) return a ?? b;
  const min = Math.max(a.min ?? 0, b.min ?? 0);
  const max = Math.min(a.max ?? Number.POSITIVE_INFINITY, b.max ?? Number.POSITIVE_INFINITY);
  return { ...(min > 0 ? { min } : {}), ...(max < Number.POSITIVE_INFINITY ? { max } : {}) };
}

/** The intersection of both. */
function withinBoth(a: Bounds | undefined, b: ActionSettings['bounds']): Bounds | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const cpuMillicores = tighter(a.cpuMillicores, b.cpuMillicores);
  const memoryMiB = tighter(a.memoryMiB, b.memoryMiB);
  return { ...(cpuMillicores && { cpuMillicores }), ...(memoryMiB && { memoryMiB }) };
}

/** True if no amount is within both the operator's and the owner's bounds. */
const contradicts = (bounds: Bounds | undefined): boolean =>
  [bounds?.cpuMillicores, bounds?.memoryMiB].some(
    (one) => one?.min !== undefined && one.max !== undefined && one.min > one.max,
  );

/** Compares all but the time at which the settings were read. */
function sameSettings(a: ActionSettings | null, b: ActionSettings | null): boolean {
  const text = (one: ActionSettings | null): string =>
    JSON.stringify(one && { ...one, at: undefined });
  return text(a) === text(b);
}
