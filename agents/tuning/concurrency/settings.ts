import { ConcurrencySettingsError } from './errors.js';

/** Activations that one container may run at once: least, least + step, ..., most. */
export interface LimitGrid {
  readonly least: number;
  readonly most: number;
  readonly step: number;
}

/** Lowest and highest limit that platform and namespace accept now. */
export interface LimitRange {
  readonly least: number;
  readonly most: number;
}

/** Both must be reached before a limit is judged, as a new one causes cold starts. */
export interface Hold {
  /** ms. */
  readonly time: number;
  readonly activations: number;
}

export interface TunerSettings {
  readonly grid: LimitGrid;
  readonly hold: Hold;
  /** Busy time / capacity below which the limit does not bind, and nothing is judged. */
  readonly bindingShare: number;
}

export interface QLearningSettings {
  /** Share of the old value that one iteration replaces. */
  readonly alpha: number;
  readonly gamma: number;
  /** Chance of a random action: 1 up to iteration `until`, then x `factor`, at least `floor`. */
  readonly epsilon: { readonly until: number; readonly factor: number; readonly floor: number };
  /** Equal bins of the CPU and the memory share, each on [0, 1]. */
  readonly bins: number;
  /** Throughput within this share of the reference earns 1. */
  readonly tolerance: number;
  /** Each iteration learns again from all known transitions (Dyna-Q). */
  readonly replay: boolean;
}

/** The limits 10, 30, ..., 310 of [Schuler]. */
export const TUNER_DEFAULT: TunerSettings = {
  grid: { least: 10, most: 310, step: 20 },
  hold: { time: 30_000, activations: 100 },
  bindingShare: 0.5,
};

/** As published [Schuler]; the number of bins, ten, is an assumption. */
export const Q_PUBLISHED: QLearningSettings = {
  alpha: 0.5,
  gamma: 0.9,
  epsilon: { until: 50, factor: 0.995, floor: 0.1 },
  bins: 10,
  tolerance: 0.05,
  replay: false,
};

/** As published it misses the optimum in 510 iterations (docs/results/concurrency.md). */
export const Q_DEFAULT: QLearningSettings = { ...Q_PUBLISHED, replay: true };

const check = (ok: boolean, detail: string): void => {
  if (!ok) throw new ConcurrencySettingsError(detail);
};

/** @throws ConcurrencySettingsError */
export function checkTunerSettings({ grid, hold, bindingShare }: TunerSettings): void {
  for (const [name, value] of Object.entries(grid))
    check(
      Number.isInteger(value) && value >= 1,
      `grid.${name} ${value} is not a whole number from 1 on`,
    );
  check(
    grid.most >= grid.least,
    `the highest limit ${grid.most} is below the lowest, ${grid.least}`,
  );
  check(
    (grid.most - grid.least) % grid.step === 0,
    `from ${grid.least} no step of ${grid.step} leads to ${grid.most}`,
  );
  check(hold.time >= 0 && Number.isFinite(hold.time), `hold.time ${hold.time}`);
  check(
    Number.isInteger(hold.activations) && hold.activations >= 1,
    `hold.activations ${hold.activations}`,
  );
  check(bindingShare >= 0 && bindingShare <= 1, `bindingShare ${bindingShare} is not in 0..1`);
}
