import type { Action, ActivationResult, Invoker } from '../../simulator/invoker-emulator/index.js';

/**
 * Lets at most so many calls of one action into the invoker at once; the rest wait their turn here,
 * first come first served, and their wait counts. A stand-in for OpenWhisk's limits on containers:
 * without one, an overloaded minute starts containers that overload it further.
 */
export class QueueingInvoker implements Invoker {
  readonly #invoker: Invoker;
  readonly #limit: number;
  readonly #inside = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(invoker: Invoker, limit: number) {
    this.#invoker = invoker;
    this.#limit = limit;
  }

  async invoke(action: Action, payload?: unknown): Promise<ActivationResult> {
    const { name } = action;
    const inside = this.#inside.get(name) ?? 0;
    if (inside >= this.#limit) {
      const waiting = this.#waiting.get(name) ?? [];
      this.#waiting.set(name, waiting);
      await new Promise<void>((enter) => waiting.push(enter));
    } else {
      this.#inside.set(name, inside + 1);
    }
    try {
      return await this.#invoker.invoke(action, payload);
    } finally {
      const next = this.#waiting.get(name)?.shift();
      if (next) next();
      else this.#inside.set(name, (this.#inside.get(name) ?? 1) - 1);
    }
  }
}
