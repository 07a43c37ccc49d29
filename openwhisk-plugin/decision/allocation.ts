/**
 * What one container holds of one resource of the host while something runs in it. Amounts in
 * millicores or bytes. `granted` = own (never above `user`) + borrowed from the pool.
 */
export class Allocation<Owner = unknown> {
  /** Whose it is; null in tests of the pool alone. */
  readonly owner: Owner | null;
  /** Place in the pool's list; -1 = not in it, nothing runs. */
  index = -1;
  user = 0;
  /** Amount asked for; the part above `granted` is not met yet. */
  demand = 0;
  /** The part of `granted` that is within the user's right; below `user` it is harvested. */
  own = 0;
  borrowed = 0;
  /** The part of `user - own` that is lent on to others. */
  lent = 0;
  /** When the run is expected to end, monotonic ms. */
  expectedEnd = 0;
  /** Set by the pool when others changed `borrowed`; cleared when the holder is told. */
  changed = false;
  /** `granted` as its holder knows it, while `changed`. */
  known = 0;

  constructor(owner: Owner | null = null) {
    this.owner = owner;
  }

  /** For another container; the pool has ended it. */
  reset(): void {
    this.index = -1;
    this.user = 0;
    this.demand = 0;
    this.own = 0;
    this.borrowed = 0;
    this.lent = 0;
    this.expectedEnd = 0;
    this.changed = false;
    this.known = 0;
  }

  get active(): boolean {
    return this.index >= 0;
  }

  get granted(): number {
    return this.own + this.borrowed;
  }

  get shortfall(): number {
    return this.demand - this.granted;
  }
}
