import type { Bytes, Millicores } from '../../../config/index.js';
import { type Limits, NO_LIMIT, type WriteResult } from '../../decision/index.js';
import type { ContainerInfo, LimitHandle } from '../ports/index.js';
import { ContainerWeight, type HostFormula } from './container-weight.js';
import { UNLIMITED, UNREADABLE, type WriteError } from './control-file.js';
import type { LimitFiles } from './limit-files.js';
import type { MemoryLowerer } from './memory-lowerer.js';
import { clampShares } from './shares.js';
import type { ScopeListener, SystemdScope } from './systemd-scope.js';

/** The kernel's own minimum, us per period. */
const MIN_QUOTA = 1000;
const PAGE = 4096;
/** A limit reads back rounded down to a page, which is at most this (arm64). */
const LARGEST_PAGE = 65_536;

export interface HandleContext extends HostFormula {
  readonly lowerer: MemoryLowerer;
  /** Room above the use that a lowered limit must leave, as a share of the use. */
  readonly margin: number;
  /** User memory limits of the open containers, bytes, by memory directory. */
  readonly guaranteedBytes: Map<string, number>;
  readonly scopeFailed: (container: ContainerInfo, error: unknown) => void;
}

/**
 * {@link LimitHandle} over either version's files: rounding, order, bounds and read-back are here.
 */
export class CgroupLimitHandle implements LimitHandle {
  readonly #files: LimitFiles;
  readonly #context: HandleContext;
  readonly #scope: SystemdScope | null;
  readonly #freezer: string | null;
  readonly #user: ContainerInfo['user'];
  /** Null on v1, where the file has shares. */
  readonly #weights: ContainerWeight | null;
  readonly #swapAllowance: number;
  readonly #expected: Limits;
  readonly #scopeListener: ScopeListener;
  readonly #generation = new Int32Array(new SharedArrayBuffer(4));
  #ceiling = UNLIMITED;
  #weight: number;
  #lowering: Promise<WriteResult> | null = null;
  #closed = false;

  /**
   * @param freezer path of the file that shows whether the container is paused, or null
   */
  constructor(
    container: ContainerInfo,
    files: LimitFiles,
    context: HandleContext,
    scope: SystemdScope | null,
    freezer: string | null,
  ) {
    this.#freezer = freezer;
    this.#files = files;
    this.#context = context;
    this.#scope = scope;
    this.#user = container.user;
    const { memory, memoryAndSwap } = container.user;
    this.#swapAllowance =
      memory === NO_LIMIT || memoryAndSwap === NO_LIMIT
        ? UNLIMITED
        : Math.max(0, memoryAndSwap - memory);
    this.#weight = files.weight();
    this.#weights =
      files.version === 2
        ? new ContainerWeight(container.user, this.#weight, scope, context)
        : null;
    this.#scopeListener = {
      failed: (error) => context.scopeFailed(container, error),
      applied: () => this.#writeAgain(),
    };
    this.#expected = { shares: 0, quota: 0 as Millicores, memory: 0 as Bytes };
    this.read(this.#expected);
    if (files.hasMemory) context.guaranteedBytes.set(files.memoryDirectory, wholePages(memory));
  }

  get expected(): Readonly<Limits> {
    return this.#expected;
  }

  setShares(shares: number): WriteResult {
    if (!this.#files.hasWeight) return 'unsupported';
    const requested = clampShares(shares);
    if (Number.isNaN(requested)) return 'refused';
    const weight = this.#weights?.of(requested) ?? requested;
    const found = this.#files.weight();
    if (found === UNREADABLE) return 'gone';
    if (
      found === weight ||
      (requested === this.#user.shares && this.#weights?.isUserValue(found) === true)
    ) {
      this.#expected.shares = requested;
      this.#weight = found;
      return 'unchanged';
    }
    const failed = this.#files.writeWeight(weight);
    if (failed) return outcome(failed);
    const now = this.#files.weight();
    if (now === UNREADABLE) return 'gone';
    this.#expected.shares = requested;
    this.#weight = weight;
    return now === weight ? 'written' : 'not_effective';
  }

  setQuota(quota: Millicores): WriteResult {
    if (!this.#files.hasQuota) return 'unsupported';
    if (!Number.isFinite(quota) || quota < 0) return 'refused';
    const period = this.#files.period;
    let requested = this.#quotaMicros(quota, period);
    // A changed value is written without reading first, which saves two reads per activation.
    const isNew = requested !== this.#quotaMicros(this.#expected.quota, period);
    const found = isNew ? Number.NaN : this.#files.quota();
    if (found === UNREADABLE) return 'gone';
    let written: 'written' | 'unchanged' = 'unchanged';
    if (found !== requested) {
      let failed = this.#files.writeQuota(requested);
      if (failed === 'EINVAL' && requested !== UNLIMITED) {
        // A group above may have been narrowed since.
        this.#ceiling = this.#files.ceiling();
        const narrowed = Math.min(requested, this.#ceiling);
        if (narrowed < requested) {
          requested = narrowed;
          failed = this.#files.writeQuota(requested);
        }
      }
      if (failed) return outcome(failed);
      const now = this.#files.quota();
      if (now === UNREADABLE) return 'gone';
      if (now !== requested) {
        this.#expected.quota = quotaMillicores(requested, period);
        return 'not_effective';
      }
      written = 'written';
    }
    this.#expected.quota = quotaMillicores(requested, period);
    return written;
  }

  raiseMemory(limit: Bytes): WriteResult {
    if (!this.#files.hasMemory) return 'unsupported';
    const requested = wholePages(limit);
    if (!(requested > 0)) return 'refused';
    const found = this.#files.memory();
    if (found === UNREADABLE) return 'gone';
    if (requested < found && !samePages(found, requested)) return 'refused';
    if (samePages(found, requested)) {
      // Cancels a lowering in progress: this request is newer.
      Atomics.add(this.#generation, 0, 1);
      this.#expected.memory = memoryBytes(found);
      return this.#repairSwap(found);
    }
    // A loan, which must not take what a group over the container has promised to others. The
    // user's own limit may.
    if (requested > wholePages(this.#user.memory) && requested > this.memoryCeiling())
      return 'refused';
    Atomics.add(this.#generation, 0, 1);
    const oldSwap = this.#files.swap();
    const failed = this.#files.raise(requested, this.#swapAllowance);
    if (failed) {
      if (oldSwap >= 0) this.#files.writeSwap(found, oldSwap);
      return outcome(failed);
    }
    this.#expected.memory = memoryBytes(requested);
    this.#notifySystemd();
    return this.#memoryIs(requested);
  }

  memoryCeiling(): Bytes {
    if (!this.#files.hasMemory) return UNLIMITED as Bytes;
    return Math.max(
      0,
      this.#files.memoryCeiling((directory) => this.#context.guaranteedBytes.get(directory)),
    ) as Bytes;
  }

  /**
   * One at a time per container. A newer call, raise or lower, makes an older one that still waits
   * end as `refused`.
   */
  async lowerMemory(limit: Bytes): Promise<WriteResult> {
    if (!this.#files.hasMemory) return 'unsupported';
    const requested = wholePages(limit);
    if (!(requested > 0) || requested === UNLIMITED) return 'refused';
    const own = Atomics.add(this.#generation, 0, 1) + 1;
    while (this.#lowering) await this.#lowering;
    // systemd writes limits without a look at the use: it must not be behind with an older, lower
    // one.
    if (this.#scope?.isBusy) await this.#scope.idle();
    if (this.#closed) return 'gone';
    if (Atomics.load(this.#generation, 0) !== own) return 'refused';
    const found = this.#files.memory();
    if (found === UNREADABLE) return 'gone';
    if (samePages(found, requested)) {
      this.#expected.memory = memoryBytes(found);
      return this.#repairSwap(found);
    }
    if (requested > found) return 'refused';
    // Restoring the user's limit needs no margin, also in a paused container. A lower limit needs
    // one, and a paused container does not get it.
    const isUserValue =
      this.#user.memory !== NO_LIMIT && requested >= wholePages(this.#user.memory);
    const before = this.#expected.memory;
    this.#lowering = this.#context.lowerer.lower(
      {
        paths: this.#files.paths,
        limit: requested,
        swap: this.#swapAllowance,
        margin: isUserValue ? 0 : this.#context.margin,
        freezer: isUserValue ? null : this.#freezer,
      },
      this.#generation,
    );
    const result = await this.#lowering;
    this.#lowering = null;
    if (this.#closed) return result;
    if (Atomics.load(this.#generation, 0) !== own) {
      // A raise came while the kernel was reclaiming, and the newer limit wins.
      const newest = wholePages(this.#expected.memory);
      if (this.#expected.memory !== before || result === 'written')
        this.#files.raise(newest, this.#swapAllowance);
      return 'refused';
    }
    if (result === 'written' || result === 'unchanged') {
      this.#expected.memory = memoryBytes(requested);
      this.#notifySystemd();
      return this.#memoryIs(requested) === 'written' ? result : 'not_effective';
    }
    return result;
  }

  protectMemory(amount: Bytes): WriteResult {
    if (!this.#files.hasMemory) return 'unsupported';
    if (!Number.isFinite(amount) || amount < 0) return 'refused';
    const requested = Math.floor(amount / PAGE) * PAGE;
    if (this.#files.version === 2 && this.#files.protection() === requested) {
      // Also where a hook was killed between the kernel and systemd.
      if (this.#systemdDiffers(requested)) this.#notifySystemd();
      return 'unchanged';
    }
    const failed = this.#files.protect(requested);
    if (failed === 'unsupported') return failed;
    if (failed) return outcome(failed);
    this.#notifySystemd();
    return samePages(this.#files.protection(), requested) ? 'written' : 'not_effective';
  }

  read(into: Limits): boolean {
    // A limit that this host does not support counts as the user's.
    let { shares, quota, memory }: Limits = this.#user;
    if (this.#files.hasWeight) {
      const weight = this.#files.weight();
      if (weight === UNREADABLE) return false;
      shares = this.#sharesOf(weight);
    }
    if (this.#files.hasQuota) {
      // Looked at again whenever all is: on v2 the kernel takes a quota above that of a group over
      // it, and enforces the smaller.
      this.#ceiling = this.#files.ceiling();
      const micros = this.#files.quota();
      if (micros === UNREADABLE) return false;
      quota = quotaMillicores(micros, this.#files.period);
    }
    if (this.#files.hasMemory) {
      const limit = this.#files.memory();
      if (limit === UNREADABLE) return false;
      memory = memoryBytes(limit);
    }
    into.shares = shares;
    into.quota = quota;
    into.memory = memory;
    return true;
  }

  /**
   * False where swap came back, which systemd does to exactly OpenWhisk's flags.
   */
  swapHolds(): boolean {
    if (!this.#files.hasMemory || this.#swapAllowance === UNLIMITED) return true;
    const swap = this.#files.swap();
    return swap === UNREADABLE || swap <= this.#swapAllowance + LARGEST_PAGE;
  }

  /**
   * True while systemd is at work on the scope: what differs then is not drift, and is written
   * again at the end.
   */
  isSettling(): boolean {
    return this.#scope?.isBusy ?? false;
  }

  repairSwap(): WriteResult {
    return this.#repairSwap(this.#files.memory());
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    Atomics.add(this.#generation, 0, 1);
    this.#context.guaranteedBytes.delete(this.#files.memoryDirectory);
    this.#files.close();
  }

  #repairSwap(memory: number): WriteResult {
    if (memory === UNREADABLE) return 'gone';
    if (this.swapHolds()) return 'unchanged';
    const failed = this.#files.writeSwap(memory, this.#swapAllowance);
    if (failed) return outcome(failed);
    this.#notifySystemd();
    return this.swapHolds() ? 'written' : 'not_effective';
  }

  #memoryIs(requested: number): WriteResult {
    const now = this.#files.memory();
    if (now === UNREADABLE) return 'gone';
    if (!samePages(now, requested)) return 'not_effective';
    // Rounded to larger pages: the kernel's value is expected from now on.
    this.#expected.memory = memoryBytes(now);
    return 'written';
  }

  #quotaMicros(quota: number, period: number): number {
    if (quota === NO_LIMIT) return UNLIMITED;
    const micros = Math.max(MIN_QUOTA, Math.round((quota * period) / 1000));
    if (micros > this.#ceiling) this.#ceiling = this.#files.ceiling();
    return Math.max(MIN_QUOTA, Math.min(this.#ceiling, micros));
  }

  #sharesOf(weight: number): number {
    if (this.#weights === null) return weight;
    if (weight === this.#weight && this.#expected.shares > 0) return this.#expected.shares;
    return this.#weights.shares(weight);
  }

  #notifySystemd(): void {
    this.#scope?.tell(
      wholePages(this.#expected.memory),
      this.#swapAllowance,
      this.#files.protection(),
      this.#scopeListener,
    );
  }

  /** Whether systemd has a runtime memory limit that is not the present one. */
  #systemdDiffers(low: number): boolean {
    if (this.#scope === null) return false;
    const differs = (name: 'MemoryLow' | 'MemorySwapMax' | 'MemoryMax', value: number): boolean => {
      const recorded = this.#scope?.recorded(name) ?? null;
      return (
        recorded !== null && recorded !== value && !(Math.abs(recorded - value) < LARGEST_PAGE)
      );
    };
    return (
      differs('MemoryLow', low) ||
      differs('MemorySwapMax', this.#swapAllowance) ||
      differs('MemoryMax', wholePages(this.#expected.memory))
    );
  }

  /**
   * systemd has written the scope's files: the user's quota and weight, and the last memory limit
   * that it got.
   */
  #writeAgain(): void {
    if (this.#closed) return;
    const files = this.#files;
    const { quota, memory } = this.#expected;
    if (files.hasWeight && files.weight() !== this.#weight) files.writeWeight(this.#weight);
    if (files.hasQuota) {
      const micros = this.#quotaMicros(quota, files.period);
      if (files.quota() !== micros) files.writeQuota(micros);
    }
    // Raised since: systemd wrote the lower limit. A limit lowered since goes to systemd next.
    if (files.hasMemory && this.#lowering === null && files.memory() < wholePages(memory))
      files.raise(wholePages(memory), this.#swapAllowance);
  }
}

/** As the kernel rounds. {@link NO_LIMIT} is the widest of all. */
function wholePages(limit: number): number {
  if (limit === NO_LIMIT) return UNLIMITED;
  return Number.isFinite(limit) ? Math.floor(limit / PAGE) * PAGE : Number.NaN;
}

const samePages = (found: number, requested: number): boolean =>
  found === requested ||
  (found < requested &&
    requested - found < LARGEST_PAGE &&
    requested !== UNLIMITED &&
    found % LARGEST_PAGE === 0);

const memoryBytes = (limit: number): Bytes => (limit === UNLIMITED ? NO_LIMIT : limit) as Bytes;

const quotaMillicores = (quota: number, period: number): Millicores =>
  (quota === UNLIMITED ? NO_LIMIT : (quota * 1000) / period) as Millicores;

function outcome(error: WriteError): WriteResult {
  return error === 'gone' ? 'gone' : 'refused';
}
