import { DurationHistogram, type Mode } from '../../config/index.js';
import type { RangeReason, WriteResult } from '../decision/index.js';

export const LIMIT_RESOURCES = ['cpu.shares', 'cpu.quota', 'memory', 'memory.low'] as const;
export type LimitResource = (typeof LIMIT_RESOURCES)[number];
export const LIMIT_DIRECTIONS = ['lower', 'raise'] as const;
/** Without `unchanged`, which writes nothing. */
export const LIMIT_RESULTS = [
  'written',
  'gone',
  'refused',
  'not_effective',
  'unsupported',
] as const satisfies WriteResult[];

/** Limit updates by resource, direction and result, and their durations. */
export class LimitTally {
  /** By resource, direction and result. */
  readonly #counts = new Float64Array(
    LIMIT_RESOURCES.length * LIMIT_DIRECTIONS.length * LIMIT_RESULTS.length,
  );
  readonly durations: Readonly<Record<LimitResource, DurationHistogram>> = {
    'cpu.shares': new DurationHistogram(),
    'cpu.quota': new DurationHistogram(),
    memory: new DurationHistogram(),
    'memory.low': new DurationHistogram(),
  };

  add(resource: LimitResource, raise: boolean, result: WriteResult, micros: number): void {
    if (result === 'unchanged') return;
    this.#counts[place(resource, raise ? 'raise' : 'lower', result)]!++;
    this.durations[resource].add(micros);
  }

  count(
    resource: LimitResource,
    direction: (typeof LIMIT_DIRECTIONS)[number],
    result: (typeof LIMIT_RESULTS)[number],
  ): number {
    return this.#counts[place(resource, direction, result)]!;
  }
}

function place(
  resource: LimitResource,
  direction: (typeof LIMIT_DIRECTIONS)[number],
  result: (typeof LIMIT_RESULTS)[number],
): number {
  const of = LIMIT_RESOURCES.indexOf(resource) * LIMIT_DIRECTIONS.length;
  return (
    (of + LIMIT_DIRECTIONS.indexOf(direction)) * LIMIT_RESULTS.length +
    LIMIT_RESULTS.indexOf(result)
  );
}

/** CPU decisions by the function's mode and the reason for the allowed range. */
export class DecisionTally {
  readonly counts: Readonly<Record<Mode, Partial<Record<RangeReason, number>>>> = {
    observe: {},
    recommend: {},
    enforce: {},
  };

  add(mode: Mode, reason: RangeReason): void {
    this.counts[mode][reason] = (this.counts[mode][reason] ?? 0) + 1;
  }
}
