import type { LifeCycleSettings } from './settings.js';

/** Mean and sample standard deviation of some episodes' returns. */
export interface WindowFigures {
  readonly mean: number;
  readonly spread: number;
  readonly episodes: number;
}

export function windowFigures(returns: readonly number[]): WindowFigures {
  const episodes = returns.length;
  if (episodes === 0) return { mean: 0, spread: 0, episodes };
  const mean = returns.reduce((sum, one) => sum + one, 0) / episodes;
  const squares = returns.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  return { mean, spread: episodes > 1 ? Math.sqrt(squares / (episodes - 1)) : 0, episodes };
}

/** The spread is within each set, so that a step between the sets does not count. */
export function pooled(a: WindowFigures, b: WindowFigures): WindowFigures {
  const episodes = a.episodes + b.episodes;
  const freedom = Math.max(1, episodes - 2);
  const squares =
    a.spread ** 2 * Math.max(0, a.episodes - 1) + b.spread ** 2 * Math.max(0, b.episodes - 1);
  return {
    mean: (a.mean * a.episodes + b.mean * b.episodes) / episodes,
    spread: Math.sqrt(squares / freedom),
    episodes,
  };
}

/** A share of a return; a negative return is divided, so that a share below 1 is always less. */
export const shareOf = (value: number, share: number): number =>
  value >= 0 ? share * value : value / share;

/** The means that count as unchanged: within the share or the noise of the reference. */
export function bandAround(
  reference: WindowFigures,
  {
    servingShare,
    standardErrors,
    window,
  }: Pick<LifeCycleSettings, 'servingShare' | 'standardErrors' | 'window'>,
): { readonly low: number; readonly high: number } {
  const noise =
    standardErrors * reference.spread * Math.sqrt(1 / window + 1 / Math.max(1, reference.episodes));
  const low = shareOf(reference.mean, servingShare);
  const width = reference.mean - low;
  return noise > width
    ? { low: reference.mean - noise, high: reference.mean + noise }
    : { low, high: reference.mean + width };
}
