import { join } from 'node:path';
import type { ContainerInfo, LimitWriter } from '../ports/index.js';
import { CgroupNotFoundError } from './cgroup-errors.js';
import { type CgroupPaths, resolveCgroups } from './cgroup-paths.js';
import { CgroupV1Files } from './cgroup-v1.js';
import { CgroupV2Files } from './cgroup-v2.js';
import type { LimitFiles } from './limit-files.js';
import { CgroupLimitHandle, type HandleContext } from './limit-handle.js';
import { MemoryLowerer } from './memory-lowerer.js';
import {
  clampShares,
  runtimeWeight,
  scaledWeight,
  sharesOfWeight,
  type WeightFormula,
} from './shares.js';
import { type ScopeProperties, SystemdScope } from './systemd-scope.js';

export interface CgroupLimitWriterOptions {
  /** The file system's root: `/` but in tests. */
  readonly root?: string;
  readonly cgroupVersion: 1 | 2;
  /**
   * How to set limits in systemd if it owns the cgroups. Absent with the cgroupfs driver.
   */
  readonly scopes?: ScopeProperties;
  /**
   * Room above the present use that a lowered memory limit must leave, as a share of the use.
   * Default 0.05.
   */
  readonly margin?: number;
  /**
   * The v2 formula of the container runtime's version ({@link formulaOfRuntime}); containers whose
   * weight shows another one count more.
   */
  readonly formula?: WeightFormula;
}

/**
 * {@link LimitWriter} on the files of cgroup v1, v2 or both. Owns one worker thread, made at the
 * first lowered memory limit.
 */
export class CgroupLimitWriter implements LimitWriter {
  readonly #root: string;
  readonly #version: 1 | 2;
  readonly #options: CgroupLimitWriterOptions;
  readonly #context: HandleContext;
  readonly #lowerer = new MemoryLowerer();
  readonly #settling = new Set<Promise<void>>();
  #scopeFailed: (container: ContainerInfo, error: unknown) => void = () => undefined;

  constructor(options: CgroupLimitWriterOptions) {
    this.#options = options;
    this.#root = options.root ?? '/';
    this.#version = options.cgroupVersion;
    this.#context = {
      lowerer: this.#lowerer,
      margin: options.margin ?? 0.05,
      formula: options.formula ?? 'linear',
      guaranteedBytes: new Map(),
      scopeFailed: (container, error) => this.#scopeFailed(container, error),
    };
  }

  /** Throws CgroupNotFoundError (ended), CgroupNamespaceError, CgroupReadOnlyError. */
  open(container: ContainerInfo): CgroupLimitHandle {
    const paths = resolveCgroups(container.pid, container.id, this.#root);
    const version = paths.memory?.version ?? paths.cpu?.version ?? this.#version;
    const scope = this.#options.scopes
      ? new SystemdScope(paths.unit, version, this.#options.scopes, this.#root, this.#settling)
      : null;
    return new CgroupLimitHandle(
      container,
      openFiles(container, paths),
      this.#context,
      scope,
      freezerFile(paths),
    );
  }

  /**
   * The nearest weight that the kernel can express. On v2 weights are coarse and proportional to
   * the container's shares: 128 shares are weight 5 with an older runc, so the next step is +20 %.
   */
  expressible(shares: number, userShares = 1024): number {
    const requested = clampShares(shares);
    if (this.#version === 1) return requested;
    const base = runtimeWeight(userShares, this.#context.formula);
    return sharesOfWeight(scaledWeight(requested, userShares, base), userShares, base);
  }

  onScopeFailure(listener: (container: ContainerInfo, error: unknown) => void): void {
    this.#scopeFailed = listener;
  }

  async settled(): Promise<void> {
    while (this.#settling.size > 0) await Promise.all(this.#settling);
  }

  /** Ends the worker thread, and the connection to systemd. */
  close(): Promise<void> {
    this.#options.scopes?.close?.();
    return this.#lowerer.close();
  }
}

function freezerFile({ freezer }: CgroupPaths): string | null {
  return (
    freezer && join(freezer.directory, freezer.version === 1 ? 'freezer.state' : 'cgroup.freeze')
  );
}

/**
 * Controllers of one container that live in different versions (hybrid hosts) get both kinds of
 * files behind one face.
 */
function openFiles(container: ContainerInfo, paths: CgroupPaths): LimitFiles {
  const { cpu, memory } = paths;
  const period = container.user.periodMicros;
  if (cpu?.version !== 2 && memory?.version !== 2) {
    return new CgroupV1Files(cpu?.directory ?? null, memory?.directory ?? null, period);
  }
  if (cpu?.version === 1 || memory?.version === 1) {
    const first = new CgroupV1Files(
      cpu?.version === 1 ? cpu.directory : null,
      memory?.version === 1 ? memory.directory : null,
      period,
    );
    const directory = (cpu?.version === 2 ? cpu.directory : memory?.directory) ?? '';
    return joined(
      first,
      new CgroupV2Files(directory, cpu?.version === 2, memory?.version === 2, period),
    );
  }
  const directory = cpu?.directory ?? memory?.directory;
  if (directory === undefined) {
    throw new CgroupNotFoundError(
      `container ${container.id.slice(0, 12)} has neither a cpu nor a memory cgroup`,
    );
  }
  return new CgroupV2Files(directory, cpu !== null, memory !== null, period);
}

function joined(first: CgroupV1Files, second: CgroupV2Files): LimitFiles {
  const cpu: LimitFiles = second.hasWeight || second.hasQuota ? second : first;
  const memory: LimitFiles = second.hasMemory ? second : first;
  return {
    version: cpu.version,
    hasWeight: cpu.hasWeight,
    hasQuota: cpu.hasQuota,
    hasMemory: memory.hasMemory,
    get period() {
      return cpu.period;
    },
    weight: () => cpu.weight(),
    writeWeight: (weight) => cpu.writeWeight(weight),
    quota: () => cpu.quota(),
    writeQuota: (quota) => cpu.writeQuota(quota),
    ceiling: () => cpu.ceiling(),
    memoryCeiling: (guarantees) => memory.memoryCeiling(guarantees),
    memoryDirectory: memory.memoryDirectory,
    memory: () => memory.memory(),
    swap: () => memory.swap(),
    raise: (limit, swap) => memory.raise(limit, swap),
    writeSwap: (limit, swap) => memory.writeSwap(limit, swap),
    protect: (amount) => memory.protect(amount),
    protection: () => memory.protection(),
    get paths() {
      return memory.paths;
    },
    close: () => {
      first.close();
      second.close();
    },
  };
}
