import type { Action } from '../../simulator/invoker-emulator/index.js';

/**
 * Does the same as Knative's sample `autoscale-go`: holds `bloatMb`, searches primes up to `prime`,
 * sleeps. Returns the number of activations in the container at its start, including itself, which
 * shows the effective limit.
 */
const CODE = `let inside = 0;
function main({ bloatMb, prime, sleepMs }) {
  const beside = ++inside;
  const held = Buffer.alloc(bloatMb * 1048576, 1);
  let last = 2;
  for (let n = 3; n <= prime; n++) {
    let divisor = 2;
    while (divisor * divisor <= n && n % divisor !== 0) divisor++;
    if (divisor * divisor > n) last = n;
  }
  const done = () => ({ inside: beside, last, held: held.length });
  if (sleepMs === 0) {
    inside--;
    return done();
  }
  return new Promise((resolve) => setTimeout(() => { inside--; resolve(done()); }, sleepMs));
}`;

export interface Payload {
  readonly bloatMb: number;
  readonly prime: number;
  readonly sleepMs: number;
}

export interface Profile {
  readonly about: string;
  readonly payload: Payload;
}

/** Chosen in a pilot (docs/results/concurrency-real.md), in containers of {@link MEMORY_MB}. */
export const PROFILES = {
  sleep: { about: 'waits 50 ms, some CPU', payload: { bloatMb: 0, prime: 14_000, sleepMs: 50 } },
  prime: { about: 'CPU alone', payload: { bloatMb: 0, prime: 20_000, sleepMs: 0 } },
  bloat: {
    about: 'fills 8 MB and holds them for 50 ms',
    payload: { bloatMb: 8, prime: 1, sleepMs: 50 },
  },
  mixed: { about: 'waits 100 ms, 2 MB held', payload: { bloatMb: 2, prime: 1, sleepMs: 100 } },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof PROFILES;

export const MEMORY_MB = 256;

/** Each limit is a revision of its own, as in OpenWhisk, and so has a container of its own. */
export const actionAt = (name: string, limit: number, revision: number): Action => ({
  namespace: 'guest',
  name,
  version: `0.0.${revision}`,
  code: CODE,
  memoryMb: MEMORY_MB,
  concurrency: limit,
});
