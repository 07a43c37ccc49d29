/**
 * What one container holds of one resource of the host while something runs in it. Amounts in millicores or bytes.
 * `granted` = own (never above `user`) + borrowed from the pool.
 */
export class Claim {
  active = false;
  user = 0;
  /** The part of `granted` that is within the user's right; below `user` it is harvested. */
  own = 0;
  borrowed = 0;
  /** The part of `user - own` that is lent on to others. */
  lent = 0;
  /** When the run is expected to end, monotonic ms. */
  expectedEnd = 0;
  /** Set by the pool when a loan was taken back; cleared by whoever writes the limit. */
  cut = false;

  get granted(): number {
    return this.own + this.borrowed;
  }
}
