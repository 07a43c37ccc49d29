import {
  type Broker,
  buckets,
  type KeyValueWatch,
  type RateLimitedLog,
} from '../../broker/index.js';
import { decodePolicyParameters, type PolicyParameters } from '../../broker/messages/index.js';
import type { Clock } from '../../config/index.js';

/**
 * What a policy does with its parameters; throws a GleanerError for what it cannot use, and keeps
 * the old ones then.
 */
export type ApplyParameters = (parameters: PolicyParameters) => void;

/**
 * Follows the bucket `gleaner_policy`: parameters of activation policies, such as a network's
 * weights.
 */
export class PolicyParameterWatch {
  readonly #apply: ApplyParameters;
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  #watch: KeyValueWatch | null = null;

  constructor(apply: ApplyParameters, clock: Clock, log: RateLimitedLog) {
    this.#apply = apply;
    this.#clock = clock;
    this.#log = log;
  }

  start(broker: Broker): void {
    this.#watch = broker.keyValue(buckets.policy).watch((entry) => {
      // A deleted entry changes nothing: what it said stays until another comes or the hook starts
      // anew.
      if (entry.value !== null) this.receive(entry.key, entry.value);
    });
    // An empty or absent bucket is no reason to wait (field-notes A4-06).
    this.#watch.ready.catch(() => undefined);
  }

  receive(key: string, value: Uint8Array): void {
    const decoded = decodePolicyParameters(value);
    if (!decoded.ok) {
      this.#log.warn(
        `policy_${decoded.kind}`,
        this.#clock.monotonic(),
        { key, detail: decoded.detail },
        'policy parameters refused: the old ones stand',
      );
      return;
    }
    try {
      this.#apply(decoded.message);
    } catch (error) {
      this.#log.warn(
        'policy_refused',
        this.#clock.monotonic(),
        { key, error: String(error) },
        'policy parameters refused: the old ones stand',
      );
    }
  }

  stop(): void {
    this.#watch?.stop();
    this.#watch = null;
  }
}
