import type { FunctionView } from '../../broker/services/index.js';
import type { HookAnswer } from '../../runtime/index.js';

/**
 * Functions asked for at once: a thousand would be a message of 800 KiB, and hold up for 10 ms a
 * hook that has limits to set.
 */
const PAGE = 100;

/**
 * What hooks tell of their functions, page by page by name, round after round. What was told last
 * stands until its turn comes again.
 */
export class FunctionPages {
  readonly #page: number;
  /**
   * By host and name: this round's so far, and the round before. What that one alone has is
   * forgotten at the round's end.
   */
  #round = new Map<string, FunctionView>();
  #before = new Map<string, FunctionView>();
  #offset = 0;

  constructor(page = PAGE) {
    this.#page = page;
  }

  /** What to ask every hook next. */
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
