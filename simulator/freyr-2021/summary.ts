import type { PublishedOutcome } from './play.js';

/** The figures of the published evaluation, by the names that programs read. */
export interface PublishedSummary {
  readonly activations: number;
  readonly timeouts: number;
  readonly 'rfet.mean': number;
  readonly 'rfet.p98': number;
  readonly 'rfet.p99': number;
  readonly 'rfet.max': number;
  readonly 'rfet.above1.share': number;
  readonly 'rfet.below1.share': number;
  /** Ticks. */
  readonly 'duration.p50': number;
  readonly 'duration.p95': number;
  readonly 'duration.p98': number;
  readonly 'duration.p99': number;
  readonly 'duration.max': number;
  /**
   * Share of activations with less than the user's allocation, of either resource; then of each.
   */
  readonly 'harvested.share': number;
  readonly 'harvested.cpu.share': number;
  readonly 'harvested.memory.share': number;
  /** The same with more. */
  readonly 'accelerated.share': number;
  readonly 'accelerated.cpu.share': number;
  readonly 'accelerated.memory.share': number;
}

/** RFET and durations count successes only, shares all activations. */
export function summarizePublished(outcomes: readonly PublishedOutcome[]): PublishedSummary {
  const successes = outcomes.filter(({ success }) => success);
  const rfet = sorted(successes.map((outcome) => outcome.rfet));
  const ticks = sorted(successes.map((outcome) => outcome.ticks));
  const share = (
    all: readonly PublishedOutcome[],
    which: (outcome: PublishedOutcome) => boolean,
  ): number => (all.length === 0 ? 0 : all.filter(which).length / all.length);
  const lessCpu = (o: PublishedOutcome): boolean => o.allocation.cpu < o.user.cpu;
  const moreCpu = (o: PublishedOutcome): boolean => o.allocation.cpu > o.user.cpu;
  const lessMemory = (o: PublishedOutcome): boolean => o.allocation.memory < o.user.memory;
  const moreMemory = (o: PublishedOutcome): boolean => o.allocation.memory > o.user.memory;
  return {
    activations: outcomes.length,
    timeouts: outcomes.length - successes.length,
    'rfet.mean': rfet.reduce((sum, value) => sum + value, 0) / Math.max(1, rfet.length),
    'rfet.p98': percentile(rfet, 98),
    'rfet.p99': percentile(rfet, 99),
    'rfet.max': percentile(rfet, 100),
    'rfet.above1.share': share(successes, (o) => o.rfet > 1),
    'rfet.below1.share': share(successes, (o) => o.rfet < 1),
    'duration.p50': percentile(ticks, 50),
    'duration.p95': percentile(ticks, 95),
    'duration.p98': percentile(ticks, 98),
    'duration.p99': percentile(ticks, 99),
    'duration.max': percentile(ticks, 100),
    'harvested.share': share(outcomes, (o) => lessCpu(o) || lessMemory(o)),
    'harvested.cpu.share': share(outcomes, lessCpu),
    'harvested.memory.share': share(outcomes, lessMemory),
    'accelerated.share': share(outcomes, (o) => moreCpu(o) || moreMemory(o)),
    'accelerated.cpu.share': share(outcomes, moreCpu),
    'accelerated.memory.share': share(outcomes, moreMemory),
  };
}

const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

/** Linear between ranks, as the published figures were taken; 0 of none. */
function percentile(ascending: readonly number[], percent: number): number {
  if (ascending.length === 0) return 0;
  const at = ((ascending.length - 1) * percent) / 100;
  const low = Math.floor(at);
  const high = Math.min(ascending.length - 1, low + 1);
  return ascending[low]! + (ascending[high]! - ascending[low]!) * (at - low);
}
