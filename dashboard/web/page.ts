import type { State } from './state.js';

/** One page of the dashboard while it is shown. */
export interface Page {
  readonly title: string;
  readonly element: HTMLElement;
  /** Something is new; at most once a second. */
  update(state: State): void;
  /** True: the key is taken. */
  key?(key: string): boolean;
  destroy(): void;
}
