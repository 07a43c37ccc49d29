import { IDLE_LIFE } from '../../rules/index.js';

export interface WarmPoolUse {
  /** Activations a second. */
  readonly rate: number;
  /** Memory of one container, bytes. */
  readonly size: number;
  /** Time that one activation keeps a container busy, s. */
  readonly busy: number;
}

/** For so long OpenWhisk keeps an idle container, s. */
export const IDLE_LIFE_SECONDS = IDLE_LIFE / 1000;
/** Halvings: the time is then known to 600 s / 2^40. */
const HALVINGS = 40;

/** Busy containers by Little's law, and one idle one after an activation less than `keep` s ago. */
function taken(uses: readonly WarmPoolUse[], keep: number): number {
  let sum = 0;
  for (const { rate, size, busy } of uses) sum += size * (rate * busy + 1 - Math.exp(-rate * keep));
  return sum;
}

/**
 * Mean life of an idle container, s. If the longest idle is evicted first, it is about the same for
 * all (Che's approximation, IEEE JSAC 20(7), 2002; Fuerst and Sharma, ASPLOS'21). Assumes Poisson
 * arrivals and one host.
 */
export function keepAliveTime(
  uses: readonly WarmPoolUse[],
  warmPoolMemory: number,
  idle = IDLE_LIFE_SECONDS,
): number {
  if (!(warmPoolMemory > 0)) return 0;
  if (taken(uses, idle) <= warmPoolMemory) return idle;
  let low = 0;
  let high = idle;
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2;
    if (taken(uses, middle) <= warmPoolMemory) low = middle;
    else high = middle;
  }
  return low;
}

/** Cold starts a second: activations that come later than a container is kept. */
export function coldStartRate(uses: readonly WarmPoolUse[], keep: number): number {
  let sum = 0;
  for (const { rate } of uses) sum += rate * Math.exp(-rate * keep);
  return sum;
}
