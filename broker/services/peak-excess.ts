import { z } from 'zod';

/** Activations seen before, by powers of two. */
const BUCKETS = 12;
/** Peak / highest peak before, in steps of 5 %; the last bin has everything from 3.07 on. */
const STEP = Math.log(1.05);
const BINS = 24;

const amounts = (length: number) => z.array(z.number().min(0)).length(length);

/**
 * How often an activation needed more memory than all before it, over all functions: one function
 * with few activations says little about its next peak, and all together say much.
 */
export const peakExcessSchema = z.object({
  calls: amounts(BUCKETS).describe('Activations, by powers of two of those before them.'),
  exceeded: amounts(BUCKETS * BINS).describe(
    'New highest peaks: for each of `calls` 24 numbers, by steps of 5 % above the former one.',
  ),
});
export interface PeakExcess {
  readonly calls: number[];
  readonly exceeded: number[];
}

export const noPeakExcess = (): PeakExcess => ({
  calls: new Array<number>(BUCKETS).fill(0),
  exceeded: new Array<number>(BUCKETS * BINS).fill(0),
});

const bucketOf = (before: number): number => Math.min(BUCKETS - 1, Math.floor(Math.log2(before)));

/** A step of `calls` activations after `before` others, with peaks of `ratio` times theirs. */
export function countPeak(table: PeakExcess, before: number, calls: number, ratio: number): void {
  if (before < 1 || calls < 1) return;
  const bucket = bucketOf(before);
  table.calls[bucket]! += calls;
  if (ratio > 1)
    table.exceeded[bucket * BINS + Math.min(BINS - 1, Math.floor(Math.log(ratio) / STEP))]!++;
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
  for (let bin = first; bin < BINS; bin++) count += table.exceeded[bucket * BINS + bin]!;
  return Math.min(1, count / (table.calls[bucket]! + ASSUMED_CALLS));
}
