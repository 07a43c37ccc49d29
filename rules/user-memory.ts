/** CPU shares that OpenWhisk divides among the containers of an invoker. */
const ALL_SHARES = 1024;
/** OpenWhisk's least, which only shows that the container is small. */
const LEAST_SHARES = 2;

/**
 * OpenWhisk's `--cpu-shares` of a container: 1024 over the number of its size that fit, both cut to
 * integers, and never below 2. Sizes in one unit. [OpenWhisk ContainerFactory.scala]
 */
export function sharesOf(memory: number, userMemory: number): number {
  const fit = Math.max(1, Math.floor(userMemory / memory));
  return Math.max(LEAST_SHARES, Math.floor(ALL_SHARES / fit));
}

/** An invoker's user-memory lies in [low, high), bytes; contradictory if that is empty. */
export interface UserMemoryRange {
  readonly low: number;
  readonly high: number;
}

/**
 * What one container's shares ({@link sharesOf}) show of its invoker's user-memory. Null: nothing.
 */
export function userMemoryRange(memory: number, shares: number): UserMemoryRange | null {
  if (!(memory > 0 && shares > LEAST_SHARES && shares <= ALL_SHARES)) return null;
  const fewest = Math.floor(ALL_SHARES / (shares + 1)) + 1;
  const most = Math.floor(ALL_SHARES / shares);
  return { low: fewest * memory, high: (most + 1) * memory };
}

/** What both show together. */
export const intersectUserMemory = (a: UserMemoryRange, b: UserMemoryRange): UserMemoryRange => ({
  low: Math.max(a.low, b.low),
  high: Math.min(a.high, b.high),
});
