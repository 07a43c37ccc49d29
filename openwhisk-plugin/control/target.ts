import type { RefusalKind, Target } from '../../broker/messages/index.js';
import type { Bytes, Millicores } from '../../config/index.js';
import type { HostCapacity, Run } from '../decision/index.js';

/** Why a target was refused. Each is a counter and a rate-limited log line. */
export type TargetRefusal =
  | RefusalKind
  /** The subject names one function, the message another. */
  | 'wrong_function'
  /** Echoes another start of this host's controller. */
  | 'wrong_boot'
  /** Echoes an observation that is too old. */
  | 'stale'
  /** Echoes a time that this host has not reached. */
  | 'future'
  /** From an owner whose lease has been taken over. */
  | 'old_epoch'
  /** Its sequence was seen already. */
  | 'replayed'
  /** Another author claims the same lease revision. */
  | 'wrong_author'
  /** Larger than any container of this host could get. */
  | 'out_of_range';

export interface TargetRules {
  readonly host: string;
  readonly boot: string;
  /** A target is stale if the observation that it answers is older than this, ms. */
  readonly staleMillis: number;
  /** Largest amounts that any container of this host could get. */
  readonly cpuMax: number;
  readonly memoryMax: number;
}

/** A larger amount than this multiple of the host is refused: no container could get it. */
const LARGEST_SHARE = 8;

export const targetRules = (
  { host, boot }: Pick<TargetRules, 'host' | 'boot'>,
  { cpu, memory }: Pick<HostCapacity, 'cpu' | 'memory'>,
  staleMillis: number,
): TargetRules => ({
  host,
  boot,
  staleMillis,
  cpuMax: LARGEST_SHARE * cpu,
  memoryMax: LARGEST_SHARE * memory,
});

/**
 * Without a weight factor an amount of CPU stands for one, within this and its inverse: managers
 * that size quotas are no judges of weights.
 */
const AMOUNT_FACTOR = 2;

/**
 * After this many stale periods without a message, an epoch is forgotten: the lease store may have
 * been recreated, and its revisions start at 1 again.
 */
const EPOCH_MEMORY = 10;

/**
 * The newest accepted target of a function on this host. No clock of another machine is trusted:
 * staleness is judged by the echo of this host's own monotonic time, order by the lease's epoch and
 * the author's sequence. Amounts are NaN where the agent sets none.
 */
export class HeldTarget {
  cpu = Number.NaN;
  memory = Number.NaN;
  weightFactor = Number.NaN;
  containers = Number.NaN;
  concurrency = Number.NaN;
  /** Monotonic ms until which it may be used. */
  validUntil = Number.NEGATIVE_INFINITY;
  /** The manager and its host; empty before the first target. */
  author = '';
  #manager = '';
  #agentHost = '';
  /** The highest epoch seen, and when it was last heard of; whichever host it answered. */
  #epoch = -1;
  #lastMessageAt = Number.NEGATIVE_INFINITY;
  #boot = '';
  #sequence = -1;

  isFresh(now: number): boolean {
    return now <= this.validUntil;
  }

  set(cpu: number, memory: number, weightFactor: number, validUntil: number): void {
    this.cpu = cpu;
    this.memory = memory;
    this.weightFactor = weightFactor;
    this.validUntil = validUntil;
  }

  /** Copies the target into a run that starts; false if there is none or it is stale. */
  applyTo(run: Run, now: number): boolean {
    if (!this.isFresh(now)) return false;
    const { container } = run;
    const { mode, userCpu } = container;
    run.targetCpu = (
      mode === 'quota'
        ? this.cpu
        : Number.isNaN(this.weightFactor)
          ? boundedAmount(this.cpu, userCpu)
          : this.weightFactor * userCpu
    ) as Millicores;
    run.targetMemory = this.memory as Bytes;
    return true;
  }

  /** Takes a target that answers this host's observation, or says why not. */
  accept(target: Target, rules: TargetRules, now: number): TargetRefusal | null {
    const problem = this.#problem(target, rules, now);
    if (problem !== null) return problem;
    this.set(
      target.cpu ?? Number.NaN,
      target.memory ?? Number.NaN,
      target.weightFactor ?? Number.NaN,
      target.echo.observedAt + rules.staleMillis,
    );
    this.containers = target.containers ?? Number.NaN;
    this.concurrency = target.concurrency ?? Number.NaN;
    this.#setAuthor(target.author.manager, target.author.host);
    this.#setOwner(target, now);
    return null;
  }

  /**
   * Takes note of an answer to another host. A new owner is the new owner here, too: messages of
   * the previous one are refused even before the new one has answered this host. The target in
   * force stays until it is stale. False: the message is of a previous owner.
   */
  noteElsewhere(target: Target, staleMillis: number, now: number): boolean {
    if (!this.#isRemembered(staleMillis, now) || target.epoch > this.#epoch)
      this.#setOwner(target, now);
    else if (target.epoch === this.#epoch && target.author.boot === this.#boot)
      this.#lastMessageAt = now;
    else return false;
    return true;
  }

  /** One author sends thousands of targets. */
  #setAuthor(manager: string, host: string): void {
    if (manager === this.#manager && host === this.#agentHost) return;
    this.#manager = manager;
    this.#agentHost = host;
    this.author = `${manager}@${host}`;
  }

  #problem(target: Target, rules: TargetRules, now: number): TargetRefusal | null {
    const { echo, author } = target;
    if (echo.boot !== rules.boot) return 'wrong_boot';
    if (echo.observedAt > now) return 'future';
    if (now - echo.observedAt > rules.staleMillis) return 'stale';
    if ((target.cpu ?? 0) > rules.cpuMax || (target.memory ?? 0) > rules.memoryMax)
      return 'out_of_range';
    if (!this.#isRemembered(rules.staleMillis, now)) return null;
    if (target.epoch < this.#epoch) return 'old_epoch';
    if (target.epoch > this.#epoch) return null;
    if (author.boot !== this.#boot) return 'wrong_author';
    return author.sequence <= this.#sequence ? 'replayed' : null;
  }

  #isRemembered(staleMillis: number, now: number): boolean {
    return now - this.#lastMessageAt <= EPOCH_MEMORY * staleMillis;
  }

  #setOwner({ epoch, author }: Target, now: number): void {
    this.#epoch = epoch;
    this.#boot = author.boot;
    this.#sequence = author.sequence;
    this.#lastMessageAt = now;
  }
}

const boundedAmount = (cpu: number, user: number): number =>
  cpu > 0 ? Math.min(AMOUNT_FACTOR * user, Math.max(user / AMOUNT_FACTOR, cpu)) : Number.NaN;
