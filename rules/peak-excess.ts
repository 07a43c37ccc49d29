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
  readonly activations: number[];
  /** For each of `activations`, new highest peaks by their ratio to the highest before. */
  readonly exceeded: number[];
}

export const noPeakExcess = (): PeakExcess => ({
  activations: new Array<number>(PEAK_BUCKETS).fill(0),
  exceeded: new Array<number>(PEAK_BUCKETS * PEAK_BINS).fill(0),
});

const bucketOf = (before: number): number =>
  Math.min(PEAK_BUCKETS - 1, Math.floor(Math.log2(before)));

/**
 * A step of `activations` activations after `before` others, with peaks of `ratio` times theirs.
 */
export function countPeak(
  table: PeakExcess,
  before: number,
  activations: number,
  ratio: number,
): void {
  if (before < 1 || activations < 1) return;
  const bucket = bucketOf(before);
  table.activations[bucket]! += activations;
  if (ratio > 1)
    table.exceeded[
      bucket * PEAK_BINS + Math.min(PEAK_BINS - 1, Math.floor(Math.log(ratio) / STEP))
    ]!++;
}

/** Adds what another agent host has seen of other functions. */
export function addPeakExcess(sum: PeakExcess, part: PeakExcess): void {
  part.activations.forEach((count, i) => {
    sum.activations[i]! += count;
  });
  part.exceeded.forEach((count, i) => {
    sum.exceeded[i]! += count;
  });
}

/**
 * Activations that the assumption counts for: the next of n + 1 alike is the highest with
 * probability 1 / (n + 1), and the tail of peaks falls with their eighth power.
 */
const ASSUMED_ACTIVATIONS = 20;
const ASSUMED_POWER = 8;

/** Chance that the next activation after `before` others needs more than `ratio` x their peak. */
export function excessChance(table: PeakExcess, before: number, ratio: number): number {
  const activations = Math.max(1, before);
  const bucket = bucketOf(activations);
  let count = (ASSUMED_ACTIVATIONS / (activations + 1)) * Math.max(1, ratio) ** -ASSUMED_POWER;
  const first = Math.max(0, Math.ceil(Math.log(ratio) / STEP - 1e-9));
  for (let bin = first; bin < PEAK_BINS; bin++) count += table.exceeded[bucket * PEAK_BINS + bin]!;
  return Math.min(1, count / (table.activations[bucket]! + ASSUMED_ACTIVATIONS));
}
