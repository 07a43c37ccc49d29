import { UNLIMITED } from './control-file.js';

export const PAGE = 4096;
/** A limit reads back rounded down to a page, which is at most this (arm64), bytes. */
export const LARGEST_PAGE = 65_536;

/** Whether the kernel shows `found` after `requested` was written; both in whole pages. */
export const samePages = (found: number, requested: number): boolean =>
  found === requested ||
  (found < requested &&
    requested - found < LARGEST_PAGE &&
    requested !== UNLIMITED &&
    found % LARGEST_PAGE === 0);
