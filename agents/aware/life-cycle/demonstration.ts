import type { Random } from '../../../config/index.js';
import type { HostSegment } from './steps-by-host.js';

/** One step of the fallback, in the agent's terms. */
export interface Demonstration {
  /** Features, followed by the embedding if there is one. */
  readonly input: Float32Array;
  readonly mask: Uint8Array;
  /** The agent's action that comes nearest to what the fallback did. */
  readonly action: number;
  readonly reward: number;
}

/** An episode's steps, a segment for each host and after each step that was not recorded. */
export type DemonstratedEpisode = readonly HostSegment<Demonstration>[];

export const stepsOf = (episodes: readonly DemonstratedEpisode[]): readonly Demonstration[] =>
  episodes.flatMap((segments) => segments.flatMap(({ steps }) => steps));

/** Rows 0 to `rows` in random order, in mini-batches: without replacement. */
export function* batches(rows: number, size: number, random: Random): Generator<Int32Array> {
  const order = Int32Array.from({ length: rows }, (_, row) => row);
  for (let i = rows - 1; i > 0; i--) {
    const j = random.below(i + 1);
    const kept = order[i]!;
    order[i] = order[j]!;
    order[j] = kept;
  }
  for (let from = 0; from < rows; from += size)
    yield order.subarray(from, Math.min(rows, from + size));
}

/** Discounted returns of a segment's steps; after the last one its mean reward repeats forever. */
export function returnsOf(
  { steps }: HostSegment<Pick<Demonstration, 'reward'>>,
  gamma: number,
): Float32Array {
  const returns = new Float32Array(steps.length);
  const mean = steps.reduce((sum, { reward }) => sum + reward, 0) / Math.max(1, steps.length);
  let next = mean / (1 - gamma);
  for (let t = steps.length - 1; t >= 0; t--) {
    next = steps[t]!.reward + gamma * next;
    returns[t] = next;
  }
  return returns;
}
