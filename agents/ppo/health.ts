/** `collapsed`: the policy always takes the same action; `uniform`: it has learned nothing. */
export type EntropyVerdict = 'learning' | 'collapsed' | 'uniform';

/** Updates in a row that a verdict takes. */
const VERDICT_UPDATES = 100;
/** Entropy, in nats, below which a policy has one action left. */
const COLLAPSED = 0.01;
/** Share of the largest entropy, ln(actions): above it nothing has been learned. */
const UNIFORM = 0.95;

/** Watches the entropy of one policy, update by update. A collapsed agent only recommends. */
export class EntropyWatch {
  readonly #largest: number;
  #low = 0;
  #high = 0;

  constructor(actions: number) {
    this.#largest = Math.log(actions);
  }

  /** The mean entropy of one update, in nats. */
  record(entropy: number): EntropyVerdict {
    this.#low = entropy < COLLAPSED ? this.#low + 1 : 0;
    this.#high = entropy > UNIFORM * this.#largest ? this.#high + 1 : 0;
    return this.verdict;
  }

  get verdict(): EntropyVerdict {
    if (this.#low >= VERDICT_UPDATES) return 'collapsed';
    return this.#high >= VERDICT_UPDATES ? 'uniform' : 'learning';
  }
}
