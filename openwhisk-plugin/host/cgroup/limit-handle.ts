import { join } from 'node:path';
import type { Bytes, Millicores } from '../../../config/index.js';
import {
  clampShares,
  type Limits,
  NO_LIMIT,
  sharesRange,
  type WeightRange,
  type WriteResult,
} from '../../decision/index.js';
import { type ContainerInfo, emptyLimits, type LimitHandle } from '../ports/index.js';
import type { CgroupPaths, ControllerDirectory } from './cgroup-paths.js';
import { UNLIMITED, UNREADABLE, type WriteError } from './control-file.js';
import { CpuFiles, type GroupQuotas, MemoryFiles } from './limit-files.js';
import { memoryCeiling } from './memory-ceiling.js';
import type { MemoryLowerer } from './memory-lowerer.js';
import { LARGEST_PAGE, PAGE, samePages } from './pages.js';
import { ContainerWeight, type HostFormula } from './shares.js';
import type { SiblingWeights } from './sibling-weights.js';
import type { ScopeListener, SystemdScope } from './systemd-scope.js';

/** The kernel's own minimum, us per period. */
const MIN_QUOTA = 1000;

export interface HandleContext extends HostFormula {
  readonly lowerer: MemoryLowerer;
  readonly siblings: SiblingWeights;
  readonly groups: GroupQuotas;
  /** Free memory that a lowered limit must leave, as a share of the use. */
  readonly margin: number;
  /** User memory limits of the open containers, bytes, by memory directory. */
  readonly guaranteedBytes: Map<string, number>;
  readonly scopeFailed: (container: ContainerInfo, error: unknown) => void;
}

/** {@link LimitHandle} on cgroup files: rounding, order, bounds and read-back. */
export class CgroupLimitHandle implements LimitHandle {
  readonly #cpu: CpuFiles | null;
  readonly #memory: MemoryFiles | null;
  readonly #context: HandleContext;
  readonly #scope: SystemdScope | null;
  /** Folder of the file that shows whether the container is paused. */
  readonly #freezer: ControllerDirectory | null;
  readonly #user: ContainerInfo['user'];
  /** Null on v1, where the file has shares. */
  readonly #weights: ContainerWeight | null;
  readonly #swapAllowance: number;
  readonly #expected = emptyLimits();
  /** One for each of thousands of containers, so null where systemd has no scopes. */
  readonly #scopeListener: ScopeListener | null;
  /**
   * Counts changes of the memory limit: a newer one cancels a reduction in progress. Null before
   * the first reduction, which most containers never see.
   */
  #generation: Int32Array | null = null;
  #ceiling = UNLIMITED;
  #weight: number;
  #lowering: Promise<WriteResult> | null = null;
  #closed = false;

  constructor(
    container: ContainerInfo,
    { cpu, memory, freezer }: CgroupPaths,
    context: HandleContext,
    scope: SystemdScope | null,
  ) {
    const { user } = container;
    this.#cpu = cpu && new CpuFiles(cpu, user.periodMicros, context.groups);
    try {
      this.#memory = memory && MemoryFiles.open(memory);
    } catch (error) {
      this.#cpu?.close();
      throw error;
    }
    this.#freezer = freezer;
    this.#context = context;
    this.#scope = scope;
    this.#user = user;
    this.#swapAllowance =
      user.memory === NO_LIMIT || user.memoryAndSwap === NO_LIMIT
        ? UNLIMITED
        : Math.max(0, user.memoryAndSwap - user.memory);
    this.#weight = this.#cpu?.weight() ?? UNREADABLE;
    this.#weights =
      this.#cpu?.version === 2 ? new ContainerWeight(user, this.#weight, scope, context) : null;
    this.#scopeListener = scope && {
      failed: (error) => context.scopeFailed(container, error),
      applied: () => this.#writeAgain(),
    };
    this.read(this.#expected);
    if (cpu !== null && this.#cpu?.hasWeight)
      context.siblings.managed.set(cpu.directory, this.#weights?.own ?? user.shares);
    if (this.#memory !== null)
      context.guaranteedBytes.set(this.#memory.directory, wholePages(user.memory));
  }

  get expected(): Readonly<Limits> {
    return this.#expected;
  }

  setShares(shares: number): WriteResult {
    if (!this.#cpu?.hasWeight) return 'unsupported';
    const requested = clampShares(shares);
    if (Number.isNaN(requested)) return 'refused';
    const weight = this.#weights?.of(requested) ?? requested;
    const found = this.#cpu.weight();
    if (found === UNREADABLE) return 'gone';
    const isUserValue =
      requested === this.#user.shares && this.#weights?.isUserValue(found) === true;
    if (found === weight || isUserValue) {
      this.#expected.shares = requested;
      this.#weight = found;
      return 'unchanged';
    }
    const failed = this.#cpu.writeWeight(weight);
    if (failed) return outcome(failed);
    const now = this.#cpu.weight();
    if (now === UNREADABLE) return 'gone';
    this.#expected.shares = requested;
    this.#weight = weight;
    return now === weight ? 'written' : 'not_effective';
  }

  weightRange(): WeightRange {
    return this.#weights?.range ?? sharesRange(this.#user.shares);
  }

  setQuota(quota: Millicores): WriteResult {
    const cpu = this.#cpu;
    if (!cpu?.hasQuota) return 'unsupported';
    if (!Number.isFinite(quota) || quota < 0) return 'refused';
    const { period } = cpu;
    let requested = this.#quotaMicros(cpu, quota, period);
    // A changed value is written without reading first, which saves two reads per activation.
    const isNew = requested !== this.#quotaMicros(cpu, this.#expected.quota, period);
    const found = isNew ? Number.NaN : cpu.quota();
    if (found === UNREADABLE) return 'gone';
    let result: WriteResult = 'unchanged';
    if (found !== requested) {
      let failed = cpu.writeQuota(requested);
      if (failed === 'EINVAL' && requested !== UNLIMITED) {
        // The quota of a group above may have been reduced since.
        this.#ceiling = cpu.ceiling();
        const reduced = Math.min(requested, this.#ceiling);
        if (reduced < requested) failed = cpu.writeQuota(reduced);
        requested = reduced;
      }
      if (failed) return outcome(failed);
      const now = cpu.quota();
      if (now === UNREADABLE) return 'gone';
      result = now === requested ? 'written' : 'not_effective';
    }
    this.#expected.quota = quotaMillicores(requested, period);
    return result;
  }

  raiseMemory(limit: Bytes): WriteResult {
    const memory = this.#memory;
    if (memory === null) return 'unsupported';
    const requested = wholePages(limit);
    if (!(requested > 0)) return 'refused';
    const found = memory.limit();
    if (found === UNREADABLE) return 'gone';
    if (samePages(found, requested)) {
      this.#cancelLowering();
      this.#expected.memory = memoryBytes(found);
      return this.#repairSwap(memory, found);
    }
    if (requested < found) return 'refused';
    // A loan, which must not take what a group above has promised to others. The user's own limit
    // may.
    if (requested > wholePages(this.#user.memory) && requested > this.memoryCeiling())
      return 'refused';
    this.#cancelLowering();
    const oldSwap = memory.swap();
    const failed = memory.raise(requested, this.#swapAllowance);
    if (failed) {
      if (oldSwap >= 0) memory.writeSwap(found, oldSwap);
      return outcome(failed);
    }
    this.#expected.memory = memoryBytes(requested);
    this.#notifySystemd(memory);
    return this.#memoryIs(memory, requested);
  }

  memoryCeiling(): Bytes {
    if (this.#memory === null) return UNLIMITED as Bytes;
    const { directory, version } = this.#memory;
    const { guaranteedBytes } = this.#context;
    const ceiling = memoryCeiling(directory, version, (group) => guaranteedBytes.get(group));
    return Math.max(0, ceiling) as Bytes;
  }

  /** One at a time per container. A newer call, raise or lower, ends a waiting one as `refused`. */
  async lowerMemory(limit: Bytes): Promise<WriteResult> {
    const memory = this.#memory;
    if (memory === null) return 'unsupported';
    const requested = wholePages(limit);
    if (!(requested > 0) || requested === UNLIMITED) return 'refused';
    this.#generation ??= new Int32Array(new SharedArrayBuffer(4));
    const generation = this.#generation;
    const own = Atomics.add(generation, 0, 1) + 1;
    while (this.#lowering) await this.#lowering;
    // systemd writes limits whatever the use: it must not be about to write an older, lower one.
    if (this.#scope?.isBusy) await this.#scope.idle();
    if (this.#closed) return 'gone';
    if (Atomics.load(generation, 0) !== own) return 'refused';
    const found = memory.limit();
    if (found === UNREADABLE) return 'gone';
    if (samePages(found, requested)) {
      this.#expected.memory = memoryBytes(found);
      return this.#repairSwap(memory, found);
    }
    if (requested > found) return 'refused';
    // Restoring the user's limit needs no margin, also in a paused container. A lower limit needs
    // one, and a paused container does not get it.
    const isUserValue =
      this.#user.memory !== NO_LIMIT && requested >= wholePages(this.#user.memory);
    const before = this.#expected.memory;
    this.#lowering = this.#context.lowerer.lower(
      {
        paths: memory.paths,
        limit: requested,
        swap: this.#swapAllowance,
        margin: isUserValue ? 0 : this.#context.margin,
        freezer: isUserValue ? null : this.#freezerFile,
      },
      generation,
    );
    const result = await this.#lowering;
    this.#lowering = null;
    if (this.#closed) return result;
    if (Atomics.load(generation, 0) !== own) {
      // A raise came while the kernel was reclaiming, and the newer limit wins.
      if (this.#expected.memory !== before || result === 'written')
        memory.raise(wholePages(this.#expected.memory), this.#swapAllowance);
      return 'refused';
    }
    if (result !== 'written' && result !== 'unchanged') return result;
    this.#expected.memory = memoryBytes(requested);
    this.#notifySystemd(memory);
    return this.#memoryIs(memory, requested) === 'written' ? result : 'not_effective';
  }

  protectMemory(amount: Bytes): WriteResult {
    const memory = this.#memory;
    if (memory === null) return 'unsupported';
    if (!Number.isFinite(amount) || amount < 0) return 'refused';
    const requested = Math.floor(amount / PAGE) * PAGE;
    if (memory.version === 2 && memory.protection() === requested) {
      // Also where a hook was killed between the kernel and systemd.
      if (this.#systemdDiffers(requested)) this.#notifySystemd(memory);
      return 'unchanged';
    }
    const failed = memory.protect(requested);
    if (failed === 'unsupported') return failed;
    if (failed) return outcome(failed);
    this.#notifySystemd(memory);
    return samePages(memory.protection(), requested) ? 'written' : 'not_effective';
  }

  read(into: Limits): boolean {
    // A limit that this host does not support counts as the user's.
    let { shares, quota, memory }: Limits = this.#user;
    if (this.#cpu?.hasWeight) {
      const weight = this.#cpu.weight();
      if (weight === UNREADABLE) return false;
      shares = this.#sharesOf(weight);
    }
    if (this.#cpu?.hasQuota) {
      // v2 takes a quota above that of a group above, and enforces the smaller. v1 refuses it.
      if (this.#cpu.version === 2) this.#ceiling = this.#cpu.ceiling();
      const micros = this.#cpu.quota();
      if (micros === UNREADABLE) return false;
      quota = quotaMillicores(micros, this.#cpu.period);
    }
    if (this.#memory !== null) {
      const limit = this.#memory.limit();
      if (limit === UNREADABLE) return false;
      memory = memoryBytes(limit);
    }
    into.shares = shares;
    into.quota = quota;
    into.memory = memory;
    return true;
  }

  /** False if systemd has reset the swap limit, as it does with exactly OpenWhisk's flags. */
  swapHolds(): boolean {
    if (this.#memory === null || this.#swapAllowance === UNLIMITED) return true;
    const swap = this.#memory.swap();
    return swap === UNREADABLE || swap <= this.#swapAllowance + LARGEST_PAGE;
  }

  /** While systemd writes the scope's files a difference is no drift: it is repaired at the end. */
  isSettling(): boolean {
    return this.#scope?.isBusy ?? false;
  }

  repairSwap(): WriteResult {
    return this.#memory === null
      ? 'unsupported'
      : this.#repairSwap(this.#memory, this.#memory.limit());
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelLowering();
    if (this.#memory !== null) this.#context.guaranteedBytes.delete(this.#memory.directory);
    if (this.#cpu !== null) this.#context.siblings.managed.delete(this.#cpu.directory);
    this.#cpu?.close();
    this.#memory?.close();
  }

  #repairSwap(memory: MemoryFiles, limit: number): WriteResult {
    if (limit === UNREADABLE) return 'gone';
    if (this.swapHolds()) return 'unchanged';
    const failed = memory.writeSwap(limit, this.#swapAllowance);
    if (failed) return outcome(failed);
    this.#notifySystemd(memory);
    return this.swapHolds() ? 'written' : 'not_effective';
  }

  #memoryIs(memory: MemoryFiles, requested: number): WriteResult {
    const now = memory.limit();
    if (now === UNREADABLE) return 'gone';
    if (!samePages(now, requested)) return 'not_effective';
    // Rounded to larger pages: the kernel's value is expected from now on.
    this.#expected.memory = memoryBytes(now);
    return 'written';
  }

  #quotaMicros(cpu: CpuFiles, quota: number, period: number): number {
    if (quota === NO_LIMIT) return UNLIMITED;
    const micros = Math.max(MIN_QUOTA, Math.round((quota * period) / 1000));
    if (micros > this.#ceiling) this.#ceiling = cpu.ceiling();
    return Math.max(MIN_QUOTA, Math.min(this.#ceiling, micros));
  }

  #sharesOf(weight: number): number {
    if (this.#weights === null) return weight;
    if (weight === this.#weight && this.#expected.shares > 0) return this.#expected.shares;
    return this.#weights.shares(weight);
  }

  #cancelLowering(): void {
    if (this.#generation !== null) Atomics.add(this.#generation, 0, 1);
  }

  get #freezerFile(): string | null {
    if (this.#freezer === null) return null;
    const { directory, version } = this.#freezer;
    return join(directory, version === 1 ? 'freezer.state' : 'cgroup.freeze');
  }

  #notifySystemd(memory: MemoryFiles): void {
    if (this.#scope === null || this.#scopeListener === null) return;
    const limit = wholePages(this.#expected.memory);
    this.#scope.setMemory(limit, this.#swapAllowance, memory.protection(), this.#scopeListener);
  }

  /** Whether systemd has a runtime memory limit that is not the present one. */
  #systemdDiffers(low: number): boolean {
    const present = {
      MemoryLow: low,
      MemorySwapMax: this.#swapAllowance,
      MemoryMax: wholePages(this.#expected.memory),
    };
    return (Object.keys(present) as (keyof typeof present)[]).some((name) => {
      const recorded = this.#scope?.recorded(name) ?? present[name];
      return recorded !== present[name] && !(Math.abs(recorded - present[name]) < LARGEST_PAGE);
    });
  }

  /** systemd has written the scope's files: the user's CPU limits, and the memory limit it got. */
  #writeAgain(): void {
    if (this.#closed) return;
    const cpu = this.#cpu;
    if (cpu?.hasWeight && cpu.weight() !== this.#weight) cpu.writeWeight(this.#weight);
    if (cpu?.hasQuota) {
      const micros = this.#quotaMicros(cpu, this.#expected.quota, cpu.period);
      if (cpu.quota() !== micros) cpu.writeQuota(micros);
    }
    // Raised since: systemd wrote the lower limit. A limit lowered since goes to systemd next.
    const limit = wholePages(this.#expected.memory);
    if (this.#memory !== null && this.#lowering === null && this.#memory.limit() < limit)
      this.#memory.raise(limit, this.#swapAllowance);
  }
}

/** As the kernel rounds. {@link NO_LIMIT} is the widest of all. */
export function wholePages(limit: number): number {
  if (limit === NO_LIMIT) return UNLIMITED;
  return Number.isFinite(limit) ? Math.floor(limit / PAGE) * PAGE : Number.NaN;
}

const memoryBytes = (limit: number): Bytes => (limit === UNLIMITED ? NO_LIMIT : limit) as Bytes;

const quotaMillicores = (quota: number, period: number): Millicores =>
  (quota === UNLIMITED ? NO_LIMIT : (quota * 1000) / period) as Millicores;

const outcome = (error: WriteError): WriteResult => (error === 'gone' ? 'gone' : 'refused');
