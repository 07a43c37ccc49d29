import type { HostUserMemory, SizeAdvice } from '../../broker/services/index.js';
import { type Bytes, MIB, mebibytes } from '../../config/index.js';
import { excessChance, OPENWHISK_MEMORY, type PeakExcess } from '../../rules/index.js';
import { IDLE_LIFE_SECONDS } from './warm-pool.js';

const LEAST = OPENWHISK_MEMORY.least;
/** Distance of the sizes that are considered. */
const STEP = mebibytes(16);
/** What a size saves is counted over this time, s. */
export const HORIZON_SECONDS = 3600;
/**
 * Cold starts that a peak above the size is worth, besides those of the new revision: most peaks
 * are lent for, and a few are OOM kills, each as bad as a hundred cold starts.
 */
const EXCESS_COST = 3;
/** Cold starts that a change is worth at least, so that sizes do not follow each new peak. */
const CHANGE_COST = 1;
/**
 * A function whose running activations fill more than this share of a host keeps its user's size:
 * its memory is what spreads it over hosts, and a smaller size would crowd the cores of its home.
 */
const MOST_FILLED = 1 / 4;

/** What all functions together ask for. */
export interface MemoryMarket {
  /** Memory of all live containers, MiB. */
  readonly asked: number;
  /** Cold starts a second of functions whose container was evicted. */
  readonly evictions: number;
  /** Cold starts that a MiB more would save, a second. */
  readonly price: number;
  /** Mean user-memory of a host, bytes; Infinity: unknown. */
  readonly hostMemory: number;
}

/**
 * The shadow price of memory by its elasticity: twice the memory is taken to halve the evictions,
 * so a MiB more saves evictions / memory. Without evictions memory is free.
 */
export function memoryMarket(
  advice: readonly SizeAdvice[],
  hosts: readonly HostUserMemory[],
): MemoryMarket {
  let asked = 0;
  let evictions = 0;
  for (const { containers, limit, evictionRate } of advice) {
    asked += (containers * limit) / MIB;
    evictions += evictionRate;
  }
  const known = hosts.reduce((sum, { userMemory }) => sum + userMemory, 0);
  return {
    asked,
    evictions,
    price: asked > 0 ? evictions / asked : 0,
    hostMemory: hosts.length > 0 ? known / hosts.length : Number.POSITIVE_INFINITY,
  };
}

/**
 * The size with the least cost in cold starts: memory at its price, expected peaks above the size,
 * and the containers of the new revision. `own`: the user's size, which it never exceeds.
 */
export function pricedSize(
  evidence: SizeAdvice,
  own: Bytes,
  { price, hostMemory }: MemoryMarket,
  excess: PeakExcess,
): Bytes {
  const { limit, recent, activations, rate, busy, kills } = evidence;
  const running = (rate * busy) / 1000;
  if (kills > 0 || running * own > MOST_FILLED * hostMemory) return own;
  if (!(recent > 0)) return limit;
  const containers = Math.max(1, evidence.containers);
  const restart = CHANGE_COST + containers * (1 - Math.exp(-rate * IDLE_LIFE_SECONDS));
  // What is to come is foreseen for as many activations as were seen.
  const ahead = Math.min(Math.max(1, rate * HORIZON_SECONDS), activations);
  const cost = (size: number): number => {
    const memory = (price * HORIZON_SECONDS * containers * size) / MIB;
    const chance = size < recent ? 1 : excessChance(excess, activations, size / recent);
    const risk = size < own ? chance * ahead * (containers + EXCESS_COST) : 0;
    return memory + risk + (size === limit ? 0 : restart);
  };
  let best: number = limit;
  let least = cost(limit);
  const first = Math.max(LEAST, Math.ceil(recent / STEP) * STEP);
  for (let size = Math.min(own, first); ; size = Math.min(own, size + STEP)) {
    const value = cost(size);
    if (value < least) {
      best = size;
      least = value;
    }
    if (size >= own) return best as Bytes;
  }
}
