import type { AgentDecision } from '../../broker/services/index.js';

const KEPT = 16;

/** The last decisions of one agent, for `explain`. */
export class DecisionLog {
  readonly #ring: AgentDecision[] = [];
  #next = 0;

  record(entry: AgentDecision): void {
    this.#ring[this.#next] = entry;
    this.#next = (this.#next + 1) % KEPT;
  }

  /** Newest first. */
  latest(): AgentDecision[] {
    const count = this.#ring.length;
    return Array.from(
      { length: count },
      (_, i) => this.#ring[(this.#next - 1 - i + 2 * count) % count]!,
    );
  }
}
