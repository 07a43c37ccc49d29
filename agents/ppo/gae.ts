/**
 * Generalized advantage estimates (Schulman et al. 2016) of rows `from` up to `to`: delta_t = r_t +
 * d_t V_t+1 - V_t, A_t = delta_t + d_t lambda A_t+1. `bootstrap`: V after the last row, 0 where the
 * task ended. Discounts are per row, as steps differ in length.
 */
export function generalizedAdvantages(
  rewards: ArrayLike<number>,
  values: ArrayLike<number>,
  discounts: ArrayLike<number>,
  lambda: number,
  from: number,
  to: number,
  bootstrap: number,
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
