import { clampInterval, type Interval, MIN_SEEDS } from './statistics.js';

/** Page and figures of a study that `gleaner reproduce` has run. */
export interface Reproduction {
  readonly markdown: string;
  readonly figures: unknown;
  /** Missed goals. */
  readonly missed: readonly string[];
}

/** A count, with its interval if it has one: `12 (10-14)`. */
export function countText(count: Interval): string {
  const { mean, low, high } = clampInterval(count, 0);
  return low === high
    ? mean.toFixed(0)
    : `${mean.toFixed(0)} (${low.toFixed(0)}-${high.toFixed(0)})`;
}

/** A ratio with its interval: `0.87x [0.86, 0.88]`; `-` without one. */
export function ratioText(ratio: Interval | null, digits = 3): string {
  if (ratio === null) return '-';
  const [mean, low, high] = [ratio.mean, ratio.low, ratio.high].map((x) => x.toFixed(digits));
  return `${mean}x [${low}, ${high}]`;
}

/** Goals on a page: undecided with fewer than `MIN_SEEDS` seeds, else the missed ones, or met. */
export function goalLines(missed: readonly string[], seeds: number): string[] {
  if (seeds < MIN_SEEDS) return [`- Undecided: ${seeds} of at least ${MIN_SEEDS} seeds.`];
  return missed.length === 0 ? ['- Met.'] : missed.map((text) => `- Missed: ${text}.`);
}

/** Goals that count as missed: fewer than `MIN_SEEDS` seeds decide none. */
export const decidedMisses = (missed: readonly string[], seeds: number): readonly string[] =>
  seeds < MIN_SEEDS ? [] : missed;

/** A study over seeds, with its full and its quick size. */
export interface SeededStudy {
  readonly name: string;
  readonly description: string;
  readonly firstSeed: number;
  readonly seeds: number;
  readonly quickSeeds: number;
  /** `missed` as if there were enough seeds. */
  run(options: {
    readonly seeds: readonly number[];
    readonly quick: boolean;
    /** The command that repeats it. */
    readonly command: string;
    readonly onRun: (done: number, all: number) => void;
  }): Reproduction;
}
