import { MIN_SEEDS } from './statistics.js';

/** Page and figures of a study that `gleaner reproduce` has run. */
export interface Reproduction {
  readonly markdown: string;
  readonly figures: unknown;
  /** Missed goals. */
  readonly missed: readonly string[];
}

/**
 * Goals on a page: the missed ones, or that all are met. With fewer than `MIN_SEEDS` seeds none is
 * met.
 */
export const goalLines = (missed: readonly string[], seeds: number): string[] => [
  ...(seeds < MIN_SEEDS
    ? [`- Undecided: ${seeds} of at least ${MIN_SEEDS} seeds.`]
    : missed.length === 0
      ? ['- Met.']
      : []),
  ...missed.map((text) => `- Missed: ${text}.`),
];

/** A study over seeds, with its full and its quick size. */
export interface SeededStudy {
  readonly name: string;
  readonly description: string;
  readonly firstSeed: number;
  readonly seeds: number;
  readonly quickSeeds: number;
  run(options: {
    readonly seeds: readonly number[];
    readonly quick: boolean;
    /** The command that repeats it. */
    readonly command: string;
    readonly onRun: (done: number, all: number) => void;
  }): Reproduction;
}
