import { type Bytes, MIB, type Mode, modes } from '../../config/index.js';
import { readAnnotations } from './annotations.js';
import type { ChangeReason } from './journal-entry.js';
import { type OpenChange, timeSince } from './open-changes.js';
import { type Range, type Ranges, within } from './ranges.js';
import {
  type LimitValues,
  limitsOf,
  type RestAction,
  type WritableLimit,
  writableLimits,
} from './rest-schemas.js';

/** Limits of an action that a manager or a person requests; absent ones stay. */
export interface LimitRequest {
  readonly function: string;
  readonly memory?: Bytes;
  readonly concurrency?: number;
  readonly instances?: number;
  /** Absent: a person's. */
  readonly why?: ChangeReason;
  /** The current limit causes failures: the change does not wait for the pace of changes. */
  readonly urgent?: boolean;
}

export interface Allowance {
  readonly mode: Mode;
  readonly memoryMiB?: { min?: number | undefined; max?: number | undefined } | undefined;
}

type NoChange =
  | 'has that value already'
  | 'at the edge of the allowed range'
  | 'mode'
  | 'sequence'
  | 'no such limit here'
  | 'out of bounds'
  | 'could not be undone'
  | 'changed recently';

export interface Planned {
  readonly function: string;
  readonly version: string;
  readonly now: LimitValues;
  /** Only what differs: each PUT makes a new version, and so cold starts. */
  readonly to: LimitValues;
  /** Limits whose request was outside the allowed range and was clipped. */
  readonly clipped: readonly WritableLimit[];
  readonly left: { readonly [Limit in WritableLimit]?: NoChange };
  /** Source of the bound to which the memory was moved; empty: it was not moved. */
  readonly rangeLimit: string;
}

export interface PlanInputs {
  readonly action: RestAction;
  readonly request: LimitRequest;
  readonly ranges: Ranges;
  readonly allowance: Allowance;
  readonly open: OpenChange | undefined;
  /** Wall clock, ms. */
  readonly now: number;
  /** Least time from our last change of an action to one that lowers its memory or concurrency. */
  readonly holdMs: number;
}

/** An annotation never allows more than the operator. */
function modeOf(action: RestAction, allowance: Allowance): Mode {
  const own = readAnnotations(action).mode ?? allowance.mode;
  return modes.indexOf(own) < modes.indexOf(allowance.mode) ? own : allowance.mode;
}

/** A range and the source of each edge, which the operator sees. */
export interface AllowedRange extends Range {
  readonly minBy: string;
  readonly maxBy: string;
}

/** MB that namespace, operator and owner all allow; null if there is none. */
export function allowedMemory(
  action: RestAction,
  ranges: Ranges,
  allowance: Allowance,
): AllowedRange | null {
  if (ranges.memory === null) return null;
  const by = "the namespace's range";
  let allowed: AllowedRange | null = { ...ranges.memory, minBy: by, maxBy: by };
  for (const [source, bounds] of [
    ['functions.overrides bounds', allowance.memoryMiB],
    ['gleaner.bounds', readAnnotations(action).bounds?.memoryMiB],
  ] as const) {
    if (allowed === null || bounds === undefined) continue;
    const { minBy, maxBy, ...before }: AllowedRange = allowed;
    const narrowed = within(before, bounds);
    allowed = narrowed && {
      ...narrowed,
      minBy: narrowed.min > before.min ? source : minBy,
      maxBy: narrowed.max < before.max ? source : maxBy,
    };
  }
  return allowed;
}

/** `at least 384 MB (gleaner.bounds)`: what clipped a value. */
export function rangeLimitText(allowed: AllowedRange, value: number): string {
  return value <= allowed.min
    ? `at least ${allowed.min} MB (${allowed.minBy})`
    : `at most ${allowed.max} MB (${allowed.maxBy})`;
}

const isSequence = ({ annotations }: RestAction): boolean =>
  annotations.some(({ key, value }) => key === 'exec' && value === 'sequence');

/** The change that a request becomes. Pure. */
export function planChange({
  action,
  request,
  ranges,
  allowance,
  open,
  now,
  holdMs,
}: PlanInputs): Planned {
  const before = limitsOf(action);
  const to: { [Limit in WritableLimit]?: number } = {};
  const left: { [Limit in WritableLimit]?: NoChange } = {};
  const clipped: WritableLimit[] = [];
  const mode = modeOf(action, allowance);
  let rangeLimit = '';
  for (const limit of writableLimits) {
    const demand =
      limit === 'memory' ? request.memory && Math.ceil(request.memory / MIB) : request[limit];
    if (demand === undefined) continue;
    const range = ranges[limit];
    const current = before[limit];
    const memory = limit === 'memory' ? allowedMemory(action, ranges, allowance) : null;
    const allowed = limit === 'memory' ? memory : range;
    if (isSequence(action)) left[limit] = 'sequence';
    else if (range === null) left[limit] = 'no such limit here';
    else if (allowed === null || !Number.isFinite(demand)) left[limit] = 'out of bounds';
    // OpenWhisk would refuse to take the old value back.
    else if (current !== undefined && (current < range.min || current > range.max))
      left[limit] = 'could not be undone';
    else {
      const value = Math.min(allowed.max, Math.max(allowed.min, Math.round(demand)));
      if (value !== Math.round(demand)) {
        clipped.push(limit);
        if (memory !== null) rangeLimit = rangeLimitText(memory, Math.round(demand));
      }
      const falls = current !== undefined && value < current;
      if (value === current)
        left[limit] = clipped.includes(limit)
          ? 'at the edge of the allowed range'
          : 'has that value already';
      else if (mode !== 'enforce') left[limit] = 'mode';
      // The tuner holds each limit by its own clock.
      else if (
        falls &&
        request.why !== 'concurrency' &&
        open !== undefined &&
        timeSince(open.changedAt, now) < holdMs
      )
        left[limit] = 'changed recently';
      else to[limit] = value;
    }
  }
  return {
    function: request.function,
    version: action.version,
    now: before,
    to,
    clipped,
    left,
    rangeLimit,
  };
}

export const isChange = (planned: Planned): boolean => Object.keys(planned.to).length > 0;
