import { type Bytes, MIB, type Mode, modes } from '../../config/index.js';
import { readAnnotations } from './annotations.js';
import type { ChangeReason } from './journal-entry.js';
import type { OpenChange } from './open-changes.js';
import { type Ranges, within } from './ranges.js';
import { type LimitValues, limitsOf, type RestAction, type WritableLimit, writableLimits } from './rest-schemas.js';

/** What a manager (or a person) wants an action's limits to be; what is absent stays. */
export interface Wish {
  /** `/namespace/[package/]action`. */
  readonly function: string;
  readonly memory?: Bytes;
  readonly concurrency?: number;
  readonly instances?: number;
  /** Absent: a person's. */
  readonly why?: ChangeReason;
  /** What is in force does harm: it does not wait for the pace of changes, as little as undoing does. */
  readonly urgent?: boolean;
}

/** What an operator says of a function. */
export interface Allowance {
  readonly mode: Mode;
  readonly memoryMiB?: { min?: number | undefined; max?: number | undefined } | undefined;
}

export type NoChange =
  | 'as wished already'
  | 'mode'
  | 'sequence'
  | 'no such limit here'
  | 'out of bounds'
  | 'could not be undone'
  | 'changed of late';

export interface Planned {
  readonly function: string;
  readonly version: string;
  readonly now: LimitValues;
  /** Only what differs; empty: nothing is sent, since a PUT makes a new version, and so cold starts, even where nothing differs. */
  readonly to: LimitValues;
  /** Limits whose wish was outside of what is allowed and was moved to its edge. */
  readonly clipped: readonly WritableLimit[];
  /** Why a limit is left as it is. */
  readonly left: { readonly [Limit in WritableLimit]?: NoChange };
}

export interface PlanInputs {
  readonly action: RestAction;
  readonly wish: Wish;
  readonly ranges: Ranges;
  readonly allowance: Allowance;
  /** Ours that stands; undefined: none. */
  readonly open: OpenChange | undefined;
  /** Wall clock, ms. */
  readonly now: number;
  /** Least time from our last change of an action to one that lowers its memory or concurrency. */
  readonly holdMs: number;
}

/** The more cautious of what operator and owner say: an annotation can hold back what is allowed, and never allow more. */
export function modeOf(action: RestAction, allowance: Allowance): Mode {
  const own = readAnnotations(action).mode ?? allowance.mode;
  return modes.indexOf(own) < modes.indexOf(allowance.mode) ? own : allowance.mode;
}

const isSequence = ({ annotations }: RestAction): boolean =>
  annotations.some(({ key, value }) => key === 'exec' && value === 'sequence');

/** What of a wish becomes a change. Pure. */
export function planChange({ action, wish, ranges, allowance, open, now, holdMs }: PlanInputs): Planned {
  const before = limitsOf(action);
  const to: { [Limit in WritableLimit]?: number } = {};
  const left: { [Limit in WritableLimit]?: NoChange } = {};
  const clipped: WritableLimit[] = [];
  const mode = modeOf(action, allowance);
  const bounds = readAnnotations(action).bounds?.memoryMiB;
  for (const limit of writableLimits) {
    const wanted = limit === 'memory' ? wish.memory && Math.ceil(wish.memory / MIB) : wish[limit];
    if (wanted === undefined) continue;
    const range = ranges[limit];
    const current = before[limit];
    const allowed =
      limit === 'memory' && range !== null
        ? within(within(range, allowance.memoryMiB ?? {}) ?? { min: 1, max: 0 }, bounds ?? {})
        : range;
    if (isSequence(action)) left[limit] = 'sequence';
    else if (range === null) left[limit] = 'no such limit here';
    else if (allowed === null || !Number.isFinite(wanted)) left[limit] = 'out of bounds';
    // OpenWhisk would refuse to take the old value back.
    else if (current !== undefined && (current < range.min || current > range.max)) left[limit] = 'could not be undone';
    else {
      const value = Math.min(allowed.max, Math.max(allowed.min, Math.round(wanted)));
      if (value !== Math.round(wanted)) clipped.push(limit);
      const falls = current !== undefined && value < current;
      if (value === current) left[limit] = 'as wished already';
      else if (mode !== 'enforce') left[limit] = 'mode';
      // The tuner holds each limit by its own clock.
      else if (falls && wish.why !== 'concurrency' && open !== undefined && now - open.changedAt < holdMs)
        left[limit] = 'changed of late';
      else to[limit] = value;
    }
  }
  return { function: wish.function, version: action.version, now: before, to, clipped, left };
}

export const isChange = (planned: Planned): boolean => Object.keys(planned.to).length > 0;
