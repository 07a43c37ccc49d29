import { atLeast, type BenchRow, none, precondition, within } from '../report.js';

/** One run of an arm. */
export interface ArmRun {
  readonly on: boolean;
  readonly activations: number;
  readonly failed: number;
  /** Limits written while it ran. */
  readonly written: number;
  /** Share of the host that functions used, and that neither they nor nothing used. */
  readonly functions: number;
  readonly others: number;
}

/** Fewest activations of an arm for a figure. */
const MIN_ACTIVATIONS = 30;
/** CPU used by functions / offered load, which excludes proxies and cold starts. */
const LOAD_SHARE = 0.35;
/** Invoker and Gleaner use .04 to .06 of the host; more would bias the result. */
const MAX_OTHER_SHARE = 0.2;

/**
 * Preconditions of paired runs: same activations, no failures, writes in one arm only, an idle
 * host.
 */
export class PairedTally {
  readonly runs: ArmRun[];

  constructor(runs: readonly ArmRun[] = []) {
    this.runs = [...runs];
  }

  note(run: ArmRun): void {
    this.runs.push(run);
  }

  /** `load`: share of the host that was offered; absent: not stated. */
  rows(prefix: string, load?: number): BenchRow[] {
    const { runs } = this;
    // Without a run every precondition would hold.
    if (runs.length === 0) return [];
    const on = runs.filter((run) => run.on);
    const off = runs.filter((run) => !run.on);
    const counts = runs.map(({ activations }) => activations);
    const total = (of: readonly ArmRun[], key: 'failed' | 'written'): number =>
      of.reduce((all, run) => all + run[key], 0);
    const highest = Math.max(...runs.map(({ others }) => others));
    return [
      atLeast(
        `${prefix}.activations`,
        Math.min(...counts),
        MIN_ACTIVATIONS,
        'activations of a run',
        'too few activations for a figure',
      ),
      none(
        `${prefix}.failed`,
        total(runs, 'failed'),
        'activations',
        'activations that fail have no duration to compare',
      ),
      atLeast(
        `${prefix}.writes.on`,
        Math.min(...on.map(({ written }) => written)),
        1,
        'limits in a run with writes',
        'Gleaner changed nothing in the arm that is to show what its changes bring',
      ),
      none(
        `${prefix}.writes.off`,
        total(off, 'written'),
        'limits in runs without writes',
        'both arms are managed',
      ),
      ...(load === undefined
        ? []
        : [
            within(
              `${prefix}.load`,
              runs.reduce((all, run) => all + run.functions, 0) / runs.length,
              Number(load.toFixed(3)),
              LOAD_SHARE,
              'share of the host',
              'functions were not given the load that the figures are for',
            ),
          ]),
      precondition(`${prefix}.others`, highest, 'share of the host', {
        holds: highest <= MAX_OTHER_SHARE,
        needs: `<= ${MAX_OTHER_SHARE}`,
        why: 'something else used this machine, and decided the outcome with it',
      }),
    ];
  }
}
