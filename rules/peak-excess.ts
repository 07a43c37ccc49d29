/** Activations seen before, by powers of two. */
export const PEAK_BUCKETS = 12;
/** Peak / highest peak before, in steps of 5 %; the last bin has everything from 3.07 on. */
const STEP = Math.log(1.05);
export const PEAK_BINS = 24;

/**
 * How often an activation needed more memory than all before it, over all functions: one function
 * with few activations says little about its next peak, and all together say much.
 */
export interface PeakExcess {
  /** Activations, by powers of two of those before them. */
  readonly calls: number[];
  /** For each of `calls`, new highest peaks by their ratio to the highest before. */
  readonly exceeded: number[];
}

export const noPeakExcess = (): PeakExcess => ({
  calls: new Array<number>(PEAK_BUCKETS).fill(0),
  exceeded: new Array<number>(PEAK_BUCKETS * PEAK_BINS).fill(0),
});

const bucketOf = (before: number): number =>
  Math.min(PEAK_BUCKETS - 1, Math.floor(Math.log2(before)));

/** A step of `calls` activations after `before` others, with peaks of `ratio` times theirs. */
export function countPeak(table: PeakExcess, before: number, calls: number, ratio: number): void {
  if (before < 1 || calls < 1) return;
  const bucket = bucketOf(before);
  table.calls[bucket]! += calls;
  if (ratio > 1)
    table.exceeded[
      bucket * PEAK_BINS + Math.min(PEAK_BINS - 1, Math.floor(Math.log(ratio) / STEP))
    ]!++;
}

/** Adds what another agent host has seen of other functions. */
export function addPeakExcess(sum: PeakExcess, part: PeakExcess): void {
  part.calls.forEach((count, i) => {
    sum.calls[i]! += count;
  });
  part.exceeded.forEach((count, i) => {
    sum.exceeded[i]! += count;
  });
}

/**
 * Activations that the assumption counts for: the next of n + 1 alike is the highest with
 * probability 1 / (n + 1), and the tail of peaks falls with their eighth power.
 */
const ASSUMED_CALLS = 20;
const ASSUMED_POWER = 8;

/** Chance that the next activation after `before` others needs more than `ratio` x their peak. */
export function excessChance(table: PeakExcess, before: number, ratio: number): number {
  const calls = Math.max(1, before);
  const bucket = bucketOf(calls);
  let count = (ASSUMED_CALLS / (calls + 1)) * Math.max(1, ratio) ** -ASSUMED_POWER;
  const first = Math.max(0, Math.ceil(Math.log(ratio) / STEP - 1e-9));
  for (let bin = first; bin < PEAK_BINS; bin++) count += table.exceeded[bucket * PEAK_BINS + bin]!;
  return Math.min(1, count / (table.calls[bucket]! + ASSUMED_CALLS));
}
