/** Why a range is what it is. */
export type RangeReason =
  /** No clean run has been seen yet. */
  | 'first_activation'
  /** Its runs are too short for a peak to be measured. */
  | 'no_peak'
  /** The last run failed. */
  | 'failure'
  /** The last run came close to a lowered limit. */
  | 'spike'
  | 'over_provisioned'
  | 'under_provisioned'
  /** Control arm: always user limits. */
  | 'control'
  /** A lowered limit has recently caused an OOM kill. */
  | 'after_oom'
  /** Its memory grows faster than a limit could be raised again. */
  | 'grows_too_fast'
  /** Memory policy `guarantee`: never below the user's limit. */
  | 'guarantee'
  /** No quota to manage: the weight is all there is. */
  | 'weight'
  /** The container has no such limit. */
  | 'unlimited';

/** Why the granted amount is what it is. */
export type ChoiceReason =
  /** The range left no choice. */
  | 'user'
  /** The policy's choice. */
  | 'chosen'
  /** The policy's choice, clipped to the range. */
  | 'clipped'
  /** The pool had less. */
  | 'pool'
  /** No target, a stale one or one that is not a positive finite number. */
  | 'no_target'
  /** Raised so that a quota never cuts a short activation. */
  | 'short_run'
  /** Several activations in the container: it falls in steps. */
  | 'step'
  /** The mid-run safeguard gave the user's limit back. */
  | 'restored'
  /** A loan was taken back by its lender. */
  | 'revoked'
  /** Less was free at the start; CPU that became free since was lent while it runs. */
  | 'lent_later'
  /** A loan of memory for the container's life. */
  | 'loan';

/** One resource of one activation: demand, range and grant. Millicores or bytes. */
export class Grant {
  user = 0;
  demand = 0;
  lower = 0;
  upper = 0;
  granted = 0;
  borrowed = 0;
  reason: RangeReason = 'first_activation';
  choice: ChoiceReason = 'user';
  /** Highest use seen in a window that counts; -1 = none. */
  peak = -1;

  reset(user: number): void {
    this.user = user;
    this.demand = user;
    this.lower = user;
    this.upper = user;
    this.granted = user;
    this.borrowed = 0;
    this.reason = 'first_activation';
    this.choice = 'user';
    this.peak = -1;
  }

  get reduced(): boolean {
    return this.granted < this.user;
  }
}
