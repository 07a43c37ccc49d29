import type {
  Action,
  ActivationResult,
  InvokerEmulator,
} from '../../simulator/invoker-emulator/index.js';
import type { Payload } from './profiles.js';

export interface Activation {
  /** Seen by the caller, including the wait for the container. */
  readonly ms: number;
  readonly runMs: number;
  readonly ok: boolean;
}

/** Callers in a closed loop, more of them than the limit, so that it is always reached. */
export class Callers {
  readonly #emulator: InvokerEmulator;
  readonly #payload: Payload;
  readonly #count: number;
  #action: Action;
  #ended: Activation[] = [];
  #sent = 0;
  #maxConcurrent = 0;
  #going = false;
  #all: Promise<unknown> = Promise.resolve();

  constructor(emulator: InvokerEmulator, action: Action, payload: Payload, count: number) {
    this.#emulator = emulator;
    this.#action = action;
    this.#payload = payload;
    this.#count = count;
  }

  /** One activation alone that makes the container. @throws where it fails */
  async first(): Promise<void> {
    const result = await this.#activate();
    if (!result.ok)
      throw new Error(
        `the first activation failed: ${result.kind} ${JSON.stringify(result.result)}`,
      );
    this.take();
  }

  start(): void {
    this.#going = true;
    this.#all = Promise.all(
      Array.from({ length: this.#count }, async () => {
        while (this.#going) await this.#activate();
      }),
    );
  }

  /** Of activations that begin from now on. */
  set action(action: Action) {
    this.#action = action;
  }

  /** Activations that ended since the last time. */
  take(): Activation[] {
    const activations = this.#ended;
    this.#ended = [];
    return activations;
  }

  /**
   * Activations that reached a container and were answered, or broke there: as many `/run` were
   * sent.
   */
  get sent(): number {
    return this.#sent;
  }

  /** Most concurrent activations in one container, as seen by the function. */
  get maxConcurrent(): number {
    return this.#maxConcurrent;
  }

  /** Resolves when all are answered. */
  async stop(): Promise<void> {
    this.#going = false;
    await this.#all;
  }

  async #activate(): Promise<ActivationResult> {
    const started = performance.now();
    const result = await this.#emulator.invoke(this.#action, this.#payload);
    const { ok, runMs } = result;
    this.#ended.push({ ms: performance.now() - started, runMs, ok });
    if (runMs > 0) this.#sent++;
    if (ok)
      this.#maxConcurrent = Math.max(
        this.#maxConcurrent,
        (result.result as { inside: number }).inside,
      );
    return result;
  }
}
