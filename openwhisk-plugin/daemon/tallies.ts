import { DurationHistogram, type Mode, modes } from '../../config/index.js';
import type { RangeReason, WriteResult } from '../decision/index.js';

/** Resources whose limits are written. */
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
    this.#counts[indexOf(resource, raise ? 'raise' : 'lower', result)]!++;
    this.durations[resource].add(micros);
  }

  count(
    resource: LimitResource,
    direction: (typeof LIMIT_DIRECTIONS)[number],
    result: (typeof LIMIT_RESULTS)[number],
  ): number {
    return this.#counts[indexOf(resource, direction, result)]!;
  }
}

function indexOf(
  resource: LimitResource,
  direction: 'lower' | 'raise',
  result: (typeof LIMIT_RESULTS)[number],
): number {
  const row =
    LIMIT_RESOURCES.indexOf(resource) * LIMIT_DIRECTIONS.length +
    LIMIT_DIRECTIONS.indexOf(direction);
  return row * LIMIT_RESULTS.length + LIMIT_RESULTS.indexOf(result);
}

const noReasons = (): Record<RangeReason, number> => ({
  first_call: 0,
  no_peak: 0,
  failure: 0,
  spike: 0,
  over_provisioned: 0,
  under_provisioned: 0,
  control: 0,
  after_oom: 0,
  grows_too_fast: 0,
  guarantee: 0,
  weight: 0,
  unlimited: 0,
});

/** CPU decisions by the function's mode and the reason for the allowed range. */
export class DecisionTally {
  readonly counts: Readonly<Record<Mode, Record<RangeReason, number>>> = {
    observe: noReasons(),
    recommend: noReasons(),
    enforce: noReasons(),
  };

  add(mode: Mode, reason: RangeReason): void {
    this.counts[mode][reason]++;
  }

  get total(): number {
    let sum = 0;
    for (const mode of modes) for (const count of Object.values(this.counts[mode])) sum += count;
    return sum;
  }
}
