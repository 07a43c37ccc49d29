interface AdvantageRows {
  readonly rewards: ArrayLike<number>;
  readonly values: ArrayLike<number>;
  /** Per row, as steps differ in length. */
  readonly discounts: ArrayLike<number>;
}

/** Rows `from` up to `to`. `bootstrap`: value after the last row, 0 if the task ended there. */
interface AdvantageSegment {
  readonly from: number;
  readonly to: number;
  readonly bootstrap: number;
}

/**
 * Generalized advantage estimates (Schulman et al. 2016) of a segment's rows: delta_t = r_t + d_t
 * V_t+1 - V_t, A_t = delta_t + d_t lambda A_t+1.
 */
export function generalizedAdvantages(
  { rewards, values, discounts }: AdvantageRows,
  { from, to, bootstrap }: AdvantageSegment,
  lambda: number,
  advantages: Float32Array,
): void {
  let next = bootstrap;
  let advantage = 0;
  for (let t = to - 1; t >= from; t--) {
    const discount = discounts[t]!;
    advantage = rewards[t]! + discount * next - values[t]! + discount * lambda * advantage;
    advantages[t] = advantage;
    next = values[t]!;
  }
}
