import {
  type Broker,
  buckets,
  type KeyValueWatch,
  type RateLimitedLog,
} from '../../broker/index.js';
import { decodePolicyParameters, type PolicyParameters } from '../../broker/messages/index.js';
import type { Clock } from '../../config/index.js';

/** Throws a GleanerError, and keeps the old parameters, if the policy cannot use the new ones. */
export type ApplyParameters = (parameters: PolicyParameters) => void;

/** Watches the bucket `gleaner_policy`: parameters of activation policies (network weights). */
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
      // The parameters of a deleted entry stay until the next entry or a restart.
      if (entry.value !== null) this.receive(entry.key, entry.value);
    });
    // The hook does not wait for the bucket, which may be empty or missing.
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
