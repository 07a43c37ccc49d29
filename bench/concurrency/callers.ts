import type { Action, ActivationResult, InvokerDouble } from '../../simulator/index.js';
import type { Payload } from './profiles.js';

export interface Call {
  /** From the caller's view: its wait for a place in the container is part of it. */
  readonly ms: number;
  readonly runMs: number;
  readonly ok: boolean;
}

/** Callers that call again when they are answered, more of them than the limit: so that the limit is always filled. */
export class Callers {
  readonly #double: InvokerDouble;
  readonly #payload: Payload;
  readonly #count: number;
  #action: Action;
  #ended: Call[] = [];
  #sent = 0;
  #insideMost = 0;
  #going = false;
  #all: Promise<unknown> = Promise.resolve();

  constructor(double: InvokerDouble, action: Action, payload: Payload, count: number) {
    this.#double = double;
    this.#action = action;
    this.#payload = payload;
    this.#count = count;
  }

  /** One call alone that makes the container. @throws where it fails */
  async first(): Promise<void> {
    const result = await this.#call();
    if (!result.ok) throw new Error(`the first call failed: ${result.kind} ${JSON.stringify(result.result)}`);
    this.take();
  }

  start(): void {
    this.#going = true;
    this.#all = Promise.all(
      Array.from({ length: this.#count }, async () => {
        while (this.#going) await this.#call();
      }),
    );
  }

  /** Of calls that begin from now on. */
  set action(action: Action) {
    this.#action = action;
  }

  /** Calls that ended since the last time. */
  take(): Call[] {
    const calls = this.#ended;
    this.#ended = [];
    return calls;
  }

  /** Calls that reached a container and were answered, or broke there: as many `/run` were sent. */
  get sent(): number {
    return this.#sent;
  }

  /** Most activations that the function itself saw beside each other in one container. */
  get insideMost(): number {
    return this.#insideMost;
  }

  /** Resolves when all are answered. */
  async stop(): Promise<void> {
    this.#going = false;
    await this.#all;
  }

  async #call(): Promise<ActivationResult> {
    const started = performance.now();
    const result = await this.#double.invoke(this.#action, this.#payload);
    const { ok, runMs } = result;
    this.#ended.push({ ms: performance.now() - started, runMs, ok });
    if (runMs > 0) this.#sent++;
    if (ok) this.#insideMost = Math.max(this.#insideMost, (result.result as { inside: number }).inside);
    return result;
  }
}
