import type { RateLimitedLog } from '../../broker/index.js';
import { decodeTarget, type Target } from '../../broker/messages/index.js';
import type { Clock, Millis } from '../../config/index.js';
import type { FunctionRecord, TargetRefusal, TargetRules } from '../control/index.js';

/** What an accepted target says about the function on all hosts. */
type SharePeak = (fn: FunctionRecord, target: Target, rules: TargetRules, now: Millis) => void;

/** Decodes targets and gives them to their functions; counts and logs refused ones. */
export class TargetReceiver {
  #rules: TargetRules;
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  readonly #find: (action: string) => FunctionRecord | undefined;
  readonly #sharePeak: SharePeak;
  accepted = 0;
  /** By {@link TargetRefusal}. */
  readonly refused: Record<string, number> = {};
  /** Targets for another host's observation, or for functions that never ran here. */
  elsewhere = 0;

  /** `find`: a function that this host knows. */
  constructor(
    rules: TargetRules,
    clock: Clock,
    log: RateLimitedLog,
    find: (action: string) => FunctionRecord | undefined,
    sharePeak: SharePeak,
  ) {
    this.#rules = rules;
    this.#clock = clock;
    this.#log = log;
    this.#find = find;
    this.#sharePeak = sharePeak;
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
    const fn = this.#find(action);
    const now = this.#clock.monotonic();
    if (target.echo.host !== this.#rules.host || fn === undefined) {
      this.elsewhere++;
      if (fn?.target.noteElsewhere(target, this.#rules.staleMillis, now))
        this.#sharePeak(fn, target, this.#rules, now);
      return false;
    }
    const problem = fn.target.accept(target, this.#rules, now);
    if (problem !== null) {
      const { epoch, author } = target;
      return this.#refuse(problem, action, `epoch ${epoch}, sequence ${author.sequence}`);
    }
    this.#sharePeak(fn, target, this.#rules, now);
    this.accepted++;
    return true;
  }

  #refuse(kind: TargetRefusal, action: string, detail: string): false {
    this.refused[kind] = (this.refused[kind] ?? 0) + 1;
    this.#log.warn(
      kind,
      this.#clock.monotonic(),
      { function: action, detail },
      'target refused: user limits apply',
    );
    return false;
  }
}
