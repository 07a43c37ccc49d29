/** The label of every function without one of its own. */
export const OTHER = 'other';

/** A label is taken away only from a function that was not called for so long, seconds. */
const LABEL_KEPT_SECONDS = 3600;

interface Slot {
  activations: number;
  /** Monotonic, seconds. */
  lastSeen: number;
}

/**
 * Which functions have a label of their own: the busiest first. A full table releases one only when
 * its function has been silent for an hour, because series that come and go are worth little.
 */
export class TopFunctions {
  readonly #most: number;
  readonly #slots = new Map<string, Slot>();
  readonly #released: (action: string) => void;

  constructor(most: number, released: (action: string) => void = () => undefined) {
    this.#most = most;
    this.#released = released;
  }

  /** Called at each scrape with every function's activations so far. */
  update(
    functions: Iterable<{ readonly action: string; readonly activations: number }>,
    now: number,
  ): void {
    const waiting: { action: string; activations: number }[] = [];
    for (const { action, activations } of functions) {
      const slot = this.#slots.get(action);
      if (slot === undefined) waiting.push({ action, activations });
      else if (slot.activations !== activations) {
        slot.activations = activations;
        slot.lastSeen = now;
      }
    }
    if (this.#most === 0 || waiting.length === 0) return;
    waiting.sort((a, b) => b.activations - a.activations);
    for (const { action, activations } of waiting) {
      if (this.#slots.size >= this.#most && !this.#freeOne(now)) return;
      this.#slots.set(action, { activations, lastSeen: now });
    }
  }

  labelOf(action: string): string {
    return this.#slots.has(action) ? action : OTHER;
  }

  #freeOne(now: number): boolean {
    for (const [action, slot] of this.#slots) {
      if (now - slot.lastSeen < LABEL_KEPT_SECONDS) continue;
      this.#slots.delete(action);
      this.#released(action);
      return true;
    }
    return false;
  }
}
