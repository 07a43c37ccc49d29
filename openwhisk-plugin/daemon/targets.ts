import type { RateLimitedLog } from '../../broker/index.js';
import { decodeTarget, type RefusalKind, type Target } from '../../broker/messages/index.js';
import type { Clock } from '../../config/index.js';

/** Why a target was not taken; each is a counter and at most one log line a minute. */
export type TargetRefusal =
  | RefusalKind
  /** The subject names one function, the message another. */
  | 'wrong_function'
  /** Echoes another start of this hook. */
  | 'wrong_boot'
  /** Echoes an observation older than targets may be. */
  | 'stale'
  /** Echoes a time this hook has not reached. */
  | 'future'
  /** From an owner whose lease has been taken over. */
  | 'old_epoch'
  /** Its sequence was seen already. */
  | 'replayed'
  /** Another author claims the same lease revision. */
  | 'wrong_author'
  /** No host could grant it. */
  | 'out_of_range';

/**
 * The newest accepted target of a function. Its members are read at every start, so it is one flat
 * object.
 */
export class HeldTarget {
  /** NaN: no wish. */
  cpu = Number.NaN;
  memory = Number.NaN;
  weightFactor = Number.NaN;
  containers = Number.NaN;
  concurrency = Number.NaN;
  /** Monotonic time until which it may be used; 0 when there is none. */
  validUntil = 0;
  /** The highest seen, and when it was heard of last; of whichever host's target. */
  epoch = -1;
  lastMessageAt = Number.NEGATIVE_INFINITY;
  author = '';
  boot = '';
  sequence = -1;

  fresh(now: number): boolean {
    return now <= this.validUntil;
  }

  clear(): void {
    this.cpu = this.memory = this.weightFactor = this.containers = this.concurrency = Number.NaN;
    this.validUntil = 0;
  }
}

export interface TargetSettings {
  readonly host: string;
  readonly boot: string;
  /** A target is stale when the observation it answers is older than this, ms. */
  readonly staleMillis: number;
  /** Largest amounts any container of this host could be given. */
  readonly cpuMax: number;
  readonly memoryMax: number;
}

/**
 * What a target tells of the function's memory on all hosts: the user's limit that it is about, and
 * the highest use, bytes.
 */
export type SharedPeak = NonNullable<Target['peak']>;

/**
 * After this many stale times without a word of it, an epoch is forgotten: the store of leases may
 * have been made anew.
 */
const EPOCH_MEMORY = 10;

/**
 * Takes targets or refuses them (design §5: no clock of another machine is trusted). Staleness is
 * judged by the echo of this hook's own monotonic time, order by the lease's epoch and the author's
 * sequence.
 */
export class TargetStore {
  #settings: TargetSettings;
  readonly #clock: Clock;
  readonly #log: RateLimitedLog;
  readonly #find: (action: string) => HeldTarget | undefined;
  readonly #peak: (action: string, peak: SharedPeak) => void;
  #accepted = 0;
  #elsewhere = 0;

  /** `find`: the held target of a function that this host knows; `peak`: of one that it knows. */
  constructor(
    settings: TargetSettings,
    clock: Clock,
    log: RateLimitedLog,
    find: (action: string) => HeldTarget | undefined,
    peak: (action: string, peak: SharedPeak) => void = () => undefined,
  ) {
    this.#peak = peak;
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.#find = find;
  }

  configure(staleMillis: number): void {
    this.#settings = { ...this.#settings, staleMillis };
  }

  get accepted(): number {
    return this.#accepted;
  }

  /**
   * Targets that answer another host's observation, or of functions never called here: nothing is
   * wrong with them.
   */
  get elsewhere(): number {
    return this.#elsewhere;
  }

  /** `action`: the function that the subject names. True when the target was taken. */
  receive(action: string, data: Uint8Array): boolean {
    const decoded = decodeTarget(data);
    if (!decoded.ok) return this.#refuse(decoded.kind, action, decoded.detail);
    const target = decoded.message;
    if (target.function !== action) return this.#refuse('wrong_function', action, target.function);
    const held = this.#find(action);
    const now = this.#clock.monotonic();
    const { staleMillis } = this.#settings;
    if (target.echo.host !== this.#settings.host || held === undefined) {
      this.#elsewhere++;
      if (held !== undefined) this.#logOtherOwner(target, held, now);
      return false;
    }
    const problem = this.#problem(target, held, now);
    if (problem !== null)
      return this.#refuse(
        problem,
        action,
        `epoch ${target.epoch}, sequence ${target.author.sequence}`,
      );
    held.cpu = target.cpu ?? Number.NaN;
    held.memory = target.memory ?? Number.NaN;
    held.weightFactor = target.weightFactor ?? Number.NaN;
    held.containers = target.containers ?? Number.NaN;
    held.concurrency = target.concurrency ?? Number.NaN;
    held.validUntil = target.echo.observedAt + staleMillis;
    held.author = `${target.author.manager}@${target.author.host}`;
    this.#owner(target, held, now);
    this.#share(target);
    this.#accepted++;
    return true;
  }

  /**
   * An answer to another host of the same function. A new owner is the new owner here, too: what
   * the one before still sends is refused even before the new one has answered this host. What is
   * held stays until it is stale.
   */
  #logOtherOwner(target: Target, held: HeldTarget, now: number): void {
    if (!this.#remembered(held, now) || target.epoch > held.epoch) this.#owner(target, held, now);
    else if (target.epoch === held.epoch && target.author.boot === held.boot)
      held.lastMessageAt = now;
    else return;
    this.#share(target);
  }

  #owner({ epoch, author }: Target, held: HeldTarget, now: number): void {
    held.epoch = epoch;
    held.boot = author.boot;
    held.sequence = author.sequence;
    held.lastMessageAt = now;
  }

  #share({ function: action, peak }: Target): void {
    if (peak !== undefined && peak.memory <= this.#settings.memoryMax) this.#peak(action, peak);
  }

  #remembered(held: HeldTarget, now: number): boolean {
    return now - held.lastMessageAt <= EPOCH_MEMORY * this.#settings.staleMillis;
  }

  #problem(target: Target, held: HeldTarget, now: number): TargetRefusal | null {
    const { boot, staleMillis, cpuMax, memoryMax } = this.#settings;
    const { echo, author } = target;
    if (echo.boot !== boot) return 'wrong_boot';
    if (echo.observedAt > now) return 'future';
    if (now - echo.observedAt > staleMillis) return 'stale';
    if ((target.cpu ?? 0) > cpuMax || (target.memory ?? 0) > memoryMax) return 'out_of_range';
    if (!this.#remembered(held, now)) return null;
    if (target.epoch < held.epoch) return 'old_epoch';
    if (target.epoch > held.epoch) return null;
    if (author.boot !== held.boot) return 'wrong_author';
    return author.sequence <= held.sequence ? 'replayed' : null;
  }

  #refuse(kind: TargetRefusal, action: string, detail: string): false {
    this.#log.warn(
      kind,
      this.#clock.monotonic(),
      { function: action, detail },
      'target refused: user limits stand',
    );
    return false;
  }

  refusals(): Record<string, number> {
    return this.#log.counts();
  }
}
