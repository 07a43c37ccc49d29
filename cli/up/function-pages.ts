import { type FunctionView, nextOffset, type Page } from '../../broker/services/index.js';
import type { HookAnswer } from '../../runtime/index.js';

/** Functions per request; a thousand would be 800 KiB and keep the hook busy for 10 ms. */
const PAGE = 100;

/** Function views of all hooks: all at first, then refreshed page by page in rounds. */
export class FunctionPages {
  readonly #page: number;
  /** By host and name: this round so far, and the round before, which is dropped at its end. */
  #round = new Map<string, FunctionView>();
  #before = new Map<string, FunctionView>();
  /** Null before the first answers. */
  #offset: number | null = null;

  constructor(page = PAGE) {
    this.#page = page;
  }

  /** The next request to every hook; without `limit` for all of its functions. */
  get request(): Partial<Page> & { readonly containers: number } {
    const page = this.#offset === null ? {} : { offset: this.#offset, limit: this.#page };
    return { ...page, containers: 0 };
  }

  /** The answers to {@link request}. */
  take(hooks: readonly Pick<HookAnswer, 'host' | 'total' | 'functions'>[]): void {
    for (const { host, functions } of hooks)
      for (const view of functions) this.#round.set(`${host.host} ${view.name}`, view);
    const most = Math.max(0, ...hooks.map(({ total }) => total));
    const page = this.#offset === null ? null : { offset: this.#offset, limit: this.#page };
    this.#offset = page === null ? 0 : nextOffset(page, most);
    if (this.#offset > 0) return;
    this.#before = this.#round;
    this.#round = new Map();
  }

  get functions(): FunctionView[] {
    return [...new Map([...this.#before, ...this.#round]).values()];
  }
}
