import type { FunctionView } from '../../broker/services/index.js';
import type { HookAnswer } from '../../runtime/index.js';

/** Functions per request; a thousand would be 800 KiB and keep the hook busy for 10 ms. */
const PAGE = 100;

/** Function views of all hooks, refreshed page by page in rounds. */
export class FunctionPages {
  readonly #page: number;
  /** By host and name: this round so far, and the round before, which is dropped at its end. */
  #round = new Map<string, FunctionView>();
  #before = new Map<string, FunctionView>();
  #offset = 0;

  constructor(page = PAGE) {
    this.#page = page;
  }

  /** The next request to every hook. */
  get request(): { readonly offset: number; readonly limit: number; readonly containers: number } {
    return { offset: this.#offset, limit: this.#page, containers: 0 };
  }

  /** The answers to {@link request}. */
  take(hooks: readonly Pick<HookAnswer, 'host' | 'total' | 'functions'>[]): void {
    for (const { host, functions } of hooks)
      for (const view of functions) this.#round.set(`${host.host} ${view.name}`, view);
    this.#offset += this.#page;
    if (hooks.some(({ total }) => this.#offset < total)) return;
    this.#offset = 0;
    this.#before = this.#round;
    this.#round = new Map();
  }

  get functions(): FunctionView[] {
    return [...new Map([...this.#before, ...this.#round]).values()];
  }
}
