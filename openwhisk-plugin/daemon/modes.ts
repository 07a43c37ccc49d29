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
  readonly #unreadable = new Set<string>();
  /** Functions whose mode is that of the last run; null: that of all. */
  readonly #remembered = new Set<string | null>();

  constructor(settings: ModeSettings) {
    this.#settings = settings;
  }

  configure(settings: ModeSettings): void {
    this.#settings = settings;
  }

  get global(): Mode {
    const { mode } = this.#settings;
    return this.#inForce(this.#forAll, null, mode) ?? mode;
  }

  of(action: string): Mode {
    if (isExcluded(this.#settings.functions.exclude, action)) return 'observe';
    const allowed = this.#askedFor(action);
    const owner = this.#owners.get(action);
    if (owner === undefined) return allowed;
    // An unreadable annotation was meant as some restriction, so the strictest one applies.
    if (owner.unreadable.length > 0 || contradicts(this.settingsOf(action).bounds))
      return 'observe';
    return owner.mode === undefined ? allowed : stricter(owner.mode, allowed);
  }

  /** What keeps a function from the mode that was set for it; null: nothing does. */
  restrictedBy(action: string): 'functions.exclude' | 'annotations' | null {
    if (isExcluded(this.#settings.functions.exclude, action)) return 'functions.exclude';
    return this.of(action) === this.#askedFor(action) ? null : 'annotations';
  }

  #askedFor(action: string): Mode {
    const { mode, functions } = this.#settings;
    const configured = overrideFor(functions.overrides, action).mode ?? mode;
    return (
      this.#inForce(this.#forFunction.get(action), action, configured) ??
      this.#inForce(this.#forAll, null, configured) ??
      configured
    );
  }

  /** The configuration may be newer than a mode of the last run, which only restricts it. */
  #inForce(mode: Mode | undefined, action: string | null, configured: Mode): Mode | undefined {
    return mode && this.#remembered.has(action) ? stricter(mode, configured) : mode;
  }

  /** Whether the configuration of some function may be stricter than this mode of the last run. */
  #isRestricted(mode: Mode | undefined, action: string | null): boolean {
    if (mode === undefined || !this.#remembered.has(action)) return false;
    const { mode: forAll, functions } = this.#settings;
    const configured =
      action === null
        ? [forAll, ...functions.overrides.map((each) => each.mode ?? forAll)]
        : [overrideFor(functions.overrides, action).mode ?? forAll];
    return configured.some((each) => stricter(mode, each) !== mode);
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

  /** Settings from the action's annotations; null: there are none any more. True: a change. */
  annotate(action: string, settings: ActionSettings | null): boolean {
    const before = this.#owners.get(action);
    if (settings === null) this.#owners.delete(action);
    else this.#owners.set(action, settings);
    return !sameSettings(before ?? null, settings);
  }

  /**
   * One function's mode, or with null all of them. Undefined: as configured. Remembered: that of
   * the last run, which only restricts what is configured. True: a change.
   */
  set(mode: Mode | undefined, action: string | null, isRemembered = false): boolean {
    const before = action === null ? this.#forAll : this.#forFunction.get(action);
    const wasRestricted = this.#isRestricted(before, action);
    if (isRemembered && mode !== undefined) this.#remembered.add(action);
    else this.#remembered.delete(action);
    if (before === mode) return wasRestricted !== this.#isRestricted(mode, action);
    if (action === null) this.#forAll = mode;
    else if (mode === undefined) this.#forFunction.delete(action);
    else this.#forFunction.set(action, mode);
    return true;
  }

  /** How many stored modes cannot be read. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  setUnreadable(key: string, isUnreadable: boolean): void {
    if (isUnreadable) this.#unreadable.add(key);
    else this.#unreadable.delete(key);
  }

  /** True: a change. */
  pause(action: string, paused: boolean): boolean {
    if (paused === this.#paused.has(action)) return false;
    if (paused) this.#paused.add(action);
    else this.#paused.delete(action);
    return true;
  }
}

const stricter = (a: Mode, b: Mode): Mode => (modeOrder.indexOf(a) < modeOrder.indexOf(b) ? a : b);

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
