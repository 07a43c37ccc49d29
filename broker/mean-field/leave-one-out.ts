import type { Bytes, Millicores } from '../../config/index.js';
import type { LatenessSums, MeanField, Sums } from '../messages/index.js';
import { type Contribution, emptySums, sumOf } from './sums.js';

/** All other agents as one virtual agent [SIMPPO]. Without others, means and variances are 0. */
export interface Others {
  readonly members: number;
  readonly mean: readonly number[];
  readonly variance: readonly number[];
  readonly actionMean: readonly number[];
  readonly allocated: Contribution['allocated'];
  readonly demand: Contribution['demand'];
  /** Both classes of objectives together; absent: no other function has one. */
  readonly lateness?: Readonly<LatenessSums>;
}

/** Batches that a host remembers; the mean field contains one of the last two or three. */
const KEPT = 8;

/**
 * The mean field names the batch of each host that it contains, so that a function's part of
 * exactly that batch is subtracted: lost, late or repeated messages cannot falsify the difference.
 */
export class LeaveOneOut {
  readonly #host: string;
  readonly #boot: string;
  readonly #batches = new Map<number, ReadonlyMap<string, Contribution>>();

  constructor(host: string, boot: string) {
    this.#host = host;
    this.#boot = boot;
  }

  /** Remembers a batch and returns its sums. The map must not be changed afterwards. */
  record(sequence: number, contributions: ReadonlyMap<string, Contribution>): Sums {
    this.#batches.set(sequence, contributions);
    for (const old of this.#batches.keys()) {
      if (this.#batches.size <= KEPT) break;
      this.#batches.delete(old);
    }
    return sumOf(contributions);
  }

  /**
   * All agents in that mean field except `fn`. Null if it contains a batch of this host that is not
   * remembered, from an earlier start of the process: the function's part in it is unknown.
   */
  others(field: MeanField, fn: string): Others | null {
    const batch = field.batches.find((one) => one.host === this.#host);
    let own: Contribution | undefined;
    if (batch) {
      const contributions =
        batch.boot === this.#boot ? this.#batches.get(batch.sequence) : undefined;
      if (!contributions) return null;
      own = contributions.get(fn);
    }
    return new Rest(field.totals, own);
  }
}

/**
 * The totals without one agent's part, computed on request: most managers read little of it.
 */
class Rest implements Others {
  readonly members: number;
  readonly #totals: Sums;
  readonly #own: Contribution | undefined;
  #mean: readonly number[] | null = null;
  #variance: readonly number[] | null = null;

  constructor(totals: Sums, own: Contribution | undefined) {
    this.#totals = totals;
    this.#own = own;
    this.members = Math.max(0, totals.members - (own ? 1 : 0));
  }

  get allocated(): Others['allocated'] {
    if (this.members === 0) return NOTHING.allocated;
    const { cpu, memory, containers } = this.#totals.allocated;
    const own = (this.#own ?? NOTHING).allocated;
    return {
      cpu: (cpu - own.cpu) as Millicores,
      memory: (memory - own.memory) as Bytes,
      containers: containers - own.containers,
    };
  }

  get demand(): Others['demand'] {
    if (this.members === 0) return NOTHING.demand;
    const { cpu, memory } = this.#totals.demand;
    const own = (this.#own ?? NOTHING).demand;
    return { cpu: (cpu - own.cpu) as Millicores, memory: (memory - own.memory) as Bytes };
  }

  get mean(): readonly number[] {
    this.#mean ??= this.#totals.state.map((sum, i) =>
      this.#share(sum - (this.#own?.state[i] ?? 0)),
    );
    return this.#mean;
  }

  get variance(): readonly number[] {
    const { mean } = this;
    this.#variance ??= this.#totals.squares.map((sum, i) => {
      const own = this.#own?.state[i] ?? 0;
      // Rounding may give a small negative number.
      return Math.max(0, this.#share(sum - own ** 2) - (mean[i] ?? 0) ** 2);
    });
    return this.#variance;
  }

  get lateness(): Readonly<LatenessSums> | undefined {
    const { lateness } = this.#totals;
    if (lateness === undefined) return undefined;
    const own = this.#own?.lateness;
    const rest = (of: keyof LatenessSums): number =>
      Math.max(0, lateness.urgent[of] + lateness.patient[of] - (own?.[of] ?? 0));
    return { running: rest('running'), atStake: rest('atStake'), late: rest('late') };
  }

  get actionMean(): readonly number[] {
    return this.#totals.actions.map((sum, i) => this.#share(sum - (this.#own?.actions[i] ?? 0)));
  }

  #share(sum: number): number {
    return this.members > 0 ? sum / this.members : 0;
  }
}

const NOTHING = emptySums();
