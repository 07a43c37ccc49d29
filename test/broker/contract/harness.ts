import type { Broker } from '../../../broker/index.js';
import { allowed } from '../../support/slowness.js';

/**
 * What the contract needs of a server: clients of it, and to be taken down and up with its stores
 * kept.
 */
export interface Harness {
  connect(): Promise<Broker>;
  takeDown(): Promise<void>;
  bringUp(): Promise<void>;
  /** A request of a client that checks nothing. */
  rawRequest(subject: string, reply: string): Promise<void>;
}

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (data: Uint8Array | null | undefined): string =>
  data ? new TextDecoder().decode(data) : 'null';

export async function until(
  condition: () => boolean,
  what: string,
  timeout = 10_000,
): Promise<void> {
  const deadline = performance.now() + allowed(timeout);
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not within ${timeout} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

let counter = 0;
export const fresh = (word: string): string => `${word}_${process.pid}_${++counter}`;
