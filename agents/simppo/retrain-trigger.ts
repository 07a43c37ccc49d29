import { LRUCache } from 'lru-cache';
import type { Observation } from '../../broker/messages/index.js';

/** Decides which agents retrain [SIMPPO]; asked once per step of each function. */
export interface RetrainTrigger {
  /** True: the function's agent retrains from this step on. */
  shouldRetrain(observation: Observation): boolean;
}

/** Functions that are remembered; a forgotten one counts as new and does not retrain. */
const REMEMBERED = 20_000;

/** Retrains after a new revision: the user has changed code, memory or objective. */
export class RevisionTrigger implements RetrainTrigger {
  readonly #newest = new LRUCache<string, string>({ max: REMEMBERED });

  /** Hosts may run the old revision for a while, so an older one than the newest is ignored. */
  shouldRetrain({ function: fn, revision }: Observation): boolean {
    if (revision === undefined) return false;
    const newest = this.#newest.get(fn);
    if (newest !== undefined && !isNewer(revision, newest)) return false;
    this.#newest.set(fn, revision);
    return newest !== undefined;
  }
}

/** OpenWhisk counts versions up: 0.0.9, 0.0.10. Of another form, a different one is newer. */
function isNewer(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => text.split('.').map(Number)) as [number[], number[]];
  if (![...a, ...b].every(Number.isInteger)) return one !== other;
  for (let i = 0; i < Math.max(a.length, b.length); i++)
    if ((a[i] ?? 0) !== (b[i] ?? 0)) return (a[i] ?? 0) > (b[i] ?? 0);
  return false;
}
