import type { Action, ActivationResult, Invoker } from '../../simulator/invoker-emulator/index.js';

/**
 * Limits the concurrent activations of each action, as OpenWhisk limits containers; others wait in
 * a FIFO queue, which counts as wait. Without a limit an overload would start more containers and
 * grow.
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
