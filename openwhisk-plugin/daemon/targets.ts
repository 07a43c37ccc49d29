import type { RateLimitedLog } from '../../broker/index.js';
import { decodeTarget, type Target } from '../../broker/messages/index.js';
import type { Clock } from '../../config/index.js';
import type { HeldTarget, TargetRefusal, TargetRules } from '../control/index.js';

/** Peak memory use of the function on all hosts, and the user limit that it applies to. */
type SharedPeak = NonNullable<Target['peak']>;

/** Decodes targets and gives them to their functions; counts and logs refused ones. */
export class TargetReceiver {
  #rules: TargetRules;
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  readonly #find: (action: string) => HeldTarget | undefined;
  readonly #peak: (action: string, peak: SharedPeak) => void;
  accepted = 0;
  /** Targets for another host's observation, or for functions that never ran here. */
  elsewhere = 0;

  /** `find`: the held target of a function that this host knows. */
  constructor(
    rules: TargetRules,
    clock: Clock,
    log: RateLimitedLog,
    find: (action: string) => HeldTarget | undefined,
    peak: (action: string, peak: SharedPeak) => void,
  ) {
    this.#rules = rules;
    this.#clock = clock;
    this.#log = log;
    this.#find = find;
    this.#peak = peak;
  }

  configure(staleMillis: number): void {
    this.#rules = { ...this.#rules, staleMillis };
  }

  /** `action`: the function that the subject names. True if the target was accepted. */
  receive(action: string, data: Uint8Array): boolean {
    const decoded = decodeTarget(data);
    if (!decoded.ok) return this.#refuse(decoded.kind, action, decoded.detail);
    const target = decoded.message;
    if (target.function !== action) return this.#refuse('wrong_function', action, target.function);
    const held = this.#find(action);
    const now = this.#clock.monotonic();
    if (target.echo.host !== this.#rules.host || held === undefined) {
      this.elsewhere++;
      if (held?.noteElsewhere(target, this.#rules.staleMillis, now)) this.#share(target);
      return false;
    }
    const problem = held.accept(target, this.#rules, now);
    if (problem !== null) {
      const { epoch, author } = target;
      return this.#refuse(problem, action, `epoch ${epoch}, sequence ${author.sequence}`);
    }
    this.#share(target);
    this.accepted++;
    return true;
  }

  #share({ function: action, peak }: Target): void {
    if (peak !== undefined && peak.memory <= this.#rules.memoryMax) this.#peak(action, peak);
  }

  #refuse(kind: TargetRefusal, action: string, detail: string): false {
    this.#log.warn(
      kind,
      this.#clock.monotonic(),
      { function: action, detail },
      'target refused: user limits apply',
    );
    return false;
  }

  refusals(): Record<string, number> {
    return this.#log.counts();
  }
}
