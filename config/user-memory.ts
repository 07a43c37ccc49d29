/** CPU shares that OpenWhisk divides among the containers of an invoker. */
const ALL_SHARES = 1024;
/** OpenWhisk's least, which only shows that the container is small. */
const LEAST_SHARES = 2;

/** An invoker's user-memory lies in [low, high), bytes; contradictory if that is empty. */
export interface UserMemoryRange {
  readonly low: number;
  readonly high: number;
}

/**
 * What one container shows of its invoker's user-memory: OpenWhisk gives shares = max(2, floor(1024
 * / floor(user-memory / memory))) [OpenWhisk ContainerFactory.scala]. Null: nothing.
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
