import type { Bytes, Millicores } from '../../config/index.js';
import type { MeanField, Sums } from '../messages/index.js';
import { type Contribution, emptySums, sumOf } from './sums.js';

/** All other agents as one virtual agent [SIMPPO]. Without others, means and variances are 0. */
export interface Others {
  readonly members: number;
  readonly mean: readonly number[];
  readonly variance: readonly number[];
  readonly actionMean: readonly number[];
  readonly allocated: Contribution['allocated'];
  readonly demand: Contribution['demand'];
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
    return sumOf(contributions.values());
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
    return without(field.totals, own);
  }
}

function without(totals: Sums, own: Contribution | undefined): Others {
  const members = totals.members - (own ? 1 : 0);
  if (members <= 0) return noOthers(totals);
  const mean = totals.state.map((sum, i) => (sum - (own?.state[i] ?? 0)) / members);
  return {
    members,
    mean,
    // Rounding may give a small negative number.
    variance: totals.squares.map((sum, i) =>
      Math.max(0, (sum - (own?.state[i] ?? 0) ** 2) / members - (mean[i] ?? 0) ** 2),
    ),
    actionMean: totals.actions.map((sum, i) => (sum - (own?.actions[i] ?? 0)) / members),
    allocated: {
      cpu: (totals.allocated.cpu - (own?.allocated.cpu ?? 0)) as Millicores,
      memory: (totals.allocated.memory - (own?.allocated.memory ?? 0)) as Bytes,
      containers: totals.allocated.containers - (own?.allocated.containers ?? 0),
    },
    demand: {
      cpu: (totals.demand.cpu - (own?.demand.cpu ?? 0)) as Millicores,
      memory: (totals.demand.memory - (own?.demand.memory ?? 0)) as Bytes,
    },
  };
}

const noOthers = ({ state, actions }: Sums): Others => {
  const [zeros, actionMean] = [state, actions].map((sums) => sums.map(() => 0));
  const { allocated, demand } = emptySums();
  return { members: 0, mean: zeros!, variance: zeros!, actionMean: actionMean!, allocated, demand };
};
