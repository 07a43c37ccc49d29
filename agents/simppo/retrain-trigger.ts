import { LRUCache } from 'lru-cache';
import type { Observation } from '../../broker/messages/index.js';

/** Decides which agents retrain [SIMPPO]; asked once per step of each function. */
export interface RetrainTrigger {
  /** True: the function's agent retrains from this step on. */
  shouldRetrain(observation: Observation): boolean;
}

/** Functions remembered; one that is forgotten is taken for new, which trips nothing. */
const REMEMBERED = 20_000;

/**
 * An action that its user has changed: new code, memory or objective make a new revision (§1.9, 4:
 * warm start from itself).
 */
export class RevisionTrigger implements RetrainTrigger {
  readonly #newest = new LRUCache<string, string>({ max: REMEMBERED });

  /**
   * Hosts may still run the revision before for a while: only one that has not been seen trips, and
   * an old one that comes back does not.
   */
  shouldRetrain({ function: fn, revision }: Observation): boolean {
    if (revision === undefined) return false;
    const newest = this.#newest.get(fn);
    if (newest !== undefined && !isNewer(revision, newest)) return false;
    this.#newest.set(fn, revision);
    return newest !== undefined;
  }
}

/**
 * OpenWhisk counts versions up: 0.0.9, 0.0.10. What is not of that form is new where it differs.
 */
function isNewer(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => text.split('.').map(Number)) as [number[], number[]];
  if (![...a, ...b].every(Number.isInteger)) return one !== other;
  for (let i = 0; i < Math.max(a.length, b.length); i++)
    if ((a[i] ?? 0) !== (b[i] ?? 0)) return (a[i] ?? 0) > (b[i] ?? 0);
  return false;
}

/** Functions that a scenario or an operator has marked; each mark trips once. */
export class MarkTrigger implements RetrainTrigger {
  readonly #marked = new Set<string>();

  mark(fn: string): void {
    this.#marked.add(fn);
  }

  shouldRetrain({ function: fn }: Observation): boolean {
    return this.#marked.delete(fn);
  }
}

/** All are asked, as each keeps count of what it has seen. */
export function anyOf(...triggers: readonly RetrainTrigger[]): RetrainTrigger {
  return {
    shouldRetrain: (observation) =>
      triggers.map((trigger) => trigger.shouldRetrain(observation)).some((triggered) => triggered),
  };
}
