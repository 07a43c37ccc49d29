import type { Observation } from '../../broker/messages/index.js';
import { type Bytes, type Millicores, type Millis, mebibytes } from '../../config/index.js';
import { memoryAfterOom } from '../../rules/index.js';
import type { ResourceManager } from '../resource-manager.js';
import {
  type BucketScheme,
  CPU_BUCKETS,
  EMPTY_HISTOGRAM,
  MEMORY_BUCKETS,
  percentileOf,
  type UsageHistogram,
  withSample,
} from './usage-histogram.js';

/** Constants of the vertical pod autoscaler. Times in ms, CPU in millicores, memory in bytes. */
export interface VpaConstants {
  readonly halfLife: Millis;
  /** Memory is sampled as the peak of an interval of this length. */
  readonly memoryInterval: Millis;
  readonly cpuSampleWeight: number;
  readonly lower: number;
  readonly target: number;
  readonly upper: number;
  readonly margin: number;
  readonly minCpu: number;
  readonly minMemory: number;
  /** Samples per half-life at full confidence. */
  readonly samplesPerHalfLife: number;
  readonly loop: Millis;
  /** Within the bounds, a change must be larger than this share and this long after the last. */
  readonly changeShare: number;
  readonly changeAfter: Millis;
}

const HOUR = 3_600_000;

/** The upstream constants [VPA]. */
export const VPA_PUBLISHED: VpaConstants = {
  halfLife: (24 * HOUR) as Millis,
  memoryInterval: (24 * HOUR) as Millis,
  cpuSampleWeight: 0.1,
  lower: 0.5,
  target: 0.9,
  upper: 0.95,
  margin: 0.15,
  minCpu: 25,
  minMemory: 250e6,
  samplesPerHalfLife: 1440,
  loop: 60_000 as Millis,
  changeShare: 0.1,
  changeAfter: (12 * HOUR) as Millis,
};

/**
 * A half-life of a day is too slow for functions that run for seconds: it is 10 minutes, other
 * times in proportion. The minimum memory is that of `greedy`.
 */
export const VPA_DEFAULT: VpaConstants = {
  ...VPA_PUBLISHED,
  halfLife: 600_000 as Millis,
  memoryInterval: 600_000 as Millis,
  minMemory: mebibytes(64),
  samplesPerHalfLife: 60,
  loop: 10_000 as Millis,
  changeAfter: 300_000 as Millis,
};

export interface VpaState {
  readonly cpu: UsageHistogram;
  readonly memory: UsageHistogram;
  /** The current interval's peak, already counted in `memory`. */
  readonly interval: { readonly start: Millis; readonly peak: number } | null;
  readonly first: Millis | null;
  readonly samples: number;
  readonly recommendedAt: Millis | null;
  readonly changedAt: Millis | null;
  /** The limits in force, as far as this manager knows; null: the user's. */
  readonly target: { readonly cpu: number; readonly memory: number } | null;
}

export const VPA_INITIAL: VpaState = {
  cpu: EMPTY_HISTOGRAM,
  memory: EMPTY_HISTOGRAM,
  interval: null,
  first: null,
  samples: 0,
  recommendedAt: null,
  changedAt: null,
  target: null,
};

export interface Bounds {
  readonly lower: number;
  readonly target: number;
  readonly upper: number;
}

function withMemoryPeak(
  state: VpaState,
  peak: number,
  constants: VpaConstants,
  now: Millis,
): VpaState {
  const { halfLife, memoryInterval } = constants;
  const add = (
    histogram: UsageHistogram,
    value: number,
    weight: number,
    at: Millis,
  ): UsageHistogram => withSample(histogram, MEMORY_BUCKETS, value, weight, at, halfLife);
  const { interval } = state;
  if (interval === null || now - interval.start >= memoryInterval) {
    return { ...state, memory: add(state.memory, peak, 1, now), interval: { start: now, peak } };
  }
  if (peak <= interval.peak) return state;
  // One sample per interval: the higher peak replaces the lower one.
  const without = add(state.memory, interval.peak, -1, interval.start);
  return {
    ...state,
    memory: add(without, peak, 1, interval.start),
    interval: { start: interval.start, peak },
  };
}

/** Adds a control step: its mean CPU use and its memory peak, and an OOM kill as a larger peak. */
export function vpaObserve(
  state: VpaState,
  observation: Observation,
  constants: VpaConstants,
  now: Millis,
): VpaState {
  const { activations, oomKills, used, peak, granted, user } = observation;
  let next = state;
  if (oomKills > 0) {
    const limit = granted.memory.max > 0 ? granted.memory.max : user.memory;
    if (limit > 0)
      next = withMemoryPeak(next, memoryAfterOom(Math.max(limit, peak.memory)), constants, now);
  }
  if (activations === 0) return next;
  if (peak.memory > 0) next = withMemoryPeak(next, peak.memory, constants, now);
  const cpu = withSample(
    next.cpu,
    CPU_BUCKETS,
    used.cpu,
    constants.cpuSampleWeight,
    now,
    constants.halfLife,
  );
  return { ...next, cpu, first: next.first ?? now, samples: next.samples + 1 };
}

/** Percentiles × margin; bounds are wider for a shorter history. Null without samples. */
export function boundsOf(
  histogram: UsageHistogram,
  buckets: BucketScheme,
  least: number,
  state: VpaState,
  constants: VpaConstants,
  now: Millis,
): Bounds | null {
  const margin = 1 + constants.margin;
  const age = state.first === null ? 0 : now - state.first;
  const confidence = Math.min(
    age / constants.halfLife,
    state.samples / constants.samplesPerHalfLife,
  );
  const at = (p: number): number => percentileOf(histogram, buckets, p) * margin;
  const target = at(constants.target);
  if (!Number.isFinite(target)) return null;
  const lower = at(constants.lower) * (1 + 0.001 / confidence) ** -2;
  const upper = at(constants.upper) * (1 + 1 / confidence);
  // A missing bound is the largest number, because JSON has no infinity.
  const floor = (value: number): number =>
    Math.min(Number.MAX_VALUE, Math.ceil(Math.max(least, value) - 1e-9));
  return { lower: floor(lower), target: floor(target), upper: floor(upper) };
}

export interface VpaRecommendation {
  readonly cpu: Bounds;
  readonly memory: Bounds | null;
}

export function vpaRecommend(
  state: VpaState,
  constants: VpaConstants,
  now: Millis,
): VpaRecommendation | null {
  const cpu = boundsOf(state.cpu, CPU_BUCKETS, constants.minCpu, state, constants, now);
  const memory = boundsOf(state.memory, MEMORY_BUCKETS, constants.minMemory, state, constants, now);
  return cpu === null ? null : { cpu, memory };
}

/** The updater's rule: outside the bounds, or a large change long enough after the last one. */
export function needsUpdate(
  now: number,
  held: number,
  bounds: Bounds,
  since: number,
  constants: VpaConstants,
): boolean {
  if (held < bounds.lower || held > bounds.upper) return true;
  return (
    Math.abs(bounds.target - held) > constants.changeShare * held &&
    now - since >= constants.changeAfter
  );
}

/**
 * The vertical pod autoscaler [VPA]: p90 × 1.15 of decaying histograms. Limits change in place, so
 * the updater's replica rules do not apply.
 */
export function vpaManager(constants: VpaConstants): ResourceManager<VpaState> {
  return {
    name: 'vpa',
    initialState: () => VPA_INITIAL,
    phase: () => 'managing',
    decide(before, { observation }, now) {
      const { user, oomKills } = observation;
      let state = vpaObserve(before, observation, constants, now);
      const due =
        state.recommendedAt === null || now - state.recommendedAt >= constants.loop || oomKills > 0;
      const recommendation = due && state.samples > 0 ? vpaRecommend(state, constants, now) : null;
      const held = state.target ?? { cpu: user.cpu, memory: user.memory };
      if (recommendation !== null) {
        const since = state.changedAt ?? state.first ?? now;
        const isOutdated = (old: number, bounds: Bounds | null): boolean =>
          bounds !== null && needsUpdate(now, old, bounds, since, constants);
        // As upstream: an update for one resource updates both.
        const update =
          oomKills > 0 ||
          isOutdated(held.cpu, recommendation.cpu) ||
          isOutdated(held.memory, recommendation.memory);
        const cpu = update ? recommendation.cpu.target : held.cpu;
        const memory = update ? (recommendation.memory?.target ?? held.memory) : held.memory;
        const changed = cpu !== held.cpu || memory !== held.memory;
        state = {
          ...state,
          recommendedAt: now,
          changedAt: changed ? now : state.changedAt,
          target: { cpu, memory },
        };
      }
      const target = state.target ?? held;
      return {
        state,
        decision: {
          cpu: target.cpu as Millicores,
          memory: target.memory as Bytes,
          actions: [0, Math.sign(target.cpu - held.cpu), Math.sign(target.memory - held.memory)],
        },
      };
    },
  };
}
