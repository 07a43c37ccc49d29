import { MIB } from '../../config/index.js';
import { OPENWHISK_MEMORY } from '../../rules/index.js';
import type {
  RestAction,
  RestNamespaceLimits,
  RestPlatform,
  WritableLimit,
} from './rest-schemas.js';

/** Inclusive. Memory in MB. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** Allowed values of a namespace; null if the platform has no such limit or no known range. */
export type Ranges = { readonly [Limit in WritableLimit]: Range | null };

export interface ListedAction {
  readonly function: string;
  readonly action: RestAction;
  readonly ranges: Ranges;
}

const STANDARD_MEMORY: Range = {
  min: OPENWHISK_MEMORY.least / MIB,
  max: OPENWHISK_MEMORY.most / MIB,
};

/** The namespace's own ranges (2.0.0 and later), otherwise the system's. */
export function rangesOf(limits: RestNamespaceLimits, platform: RestPlatform | null): Ranges {
  const range = (min: number | undefined, max: number | undefined): Range | null =>
    min === undefined || max === undefined || min > max ? null : { min, max };
  const system = platform?.limits;
  return {
    memory:
      range(limits.minActionMemory, limits.maxActionMemory) ??
      range(
        toMb(system?.min_action_memory, Math.ceil),
        toMb(system?.max_action_memory, Math.floor),
      ) ??
      STANDARD_MEMORY,
    concurrency: range(limits.minActionConcurrency, limits.maxActionConcurrency),
    // Zero passes the API and stops the action, so it is not ours to write
    // (InstanceConcurrencyLimit.scala).
    instances: range(1, limits.maxActionInstances),
  };
}

function toMb(bytes: number | undefined, round: (value: number) => number): number | undefined {
  return bytes === undefined ? undefined : round(bytes / MIB);
}

/** The part that two ranges share; null if there is none. Either bound may be missing. */
export function within(
  range: Range,
  bounds: { min?: number | undefined; max?: number | undefined },
): Range | null {
  const min = Math.max(range.min, Math.ceil(bounds.min ?? range.min));
  const max = Math.min(range.max, Math.floor(bounds.max ?? range.max));
  return min > max ? null : { min, max };
}
