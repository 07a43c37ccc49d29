import { clampShares } from '../../decision/index.js';
import type { ContainerInfo, LimitHandle, LimitWriter } from '../ports/index.js';
import { MountTable } from './cgroup-mounts.js';
import { type CgroupPaths, podCgroups, resolveCgroups } from './cgroup-paths.js';
import { GroupQuotas } from './limit-files.js';
import { CgroupLimitHandle, type HandleContext } from './limit-handle.js';
import { MemoryLowerer } from './memory-lowerer.js';
import { PodLimitHandle } from './pod-limit-handle.js';
import { runtimeWeight, scaledWeight, sharesOfWeight, type WeightFormula } from './shares.js';
import { SiblingWeights } from './sibling-weights.js';
import { type ScopeProperties, SystemdScope } from './systemd-scope.js';

export interface CgroupLimitWriterOptions {
  /** The file system's root: `/` but in tests. */
  readonly root?: string;
  readonly cgroupVersion: 1 | 2;
  /** How to set limits in systemd if it owns the cgroups. Absent with the cgroupfs driver. */
  readonly scopes?: ScopeProperties;
  /** Free memory that a lowered limit must leave, as a share of the use. Default 0.05. */
  readonly margin?: number;
  /** v2 formula of the runtime's version, unless the weight of a container shows another. */
  readonly formula?: WeightFormula;
}

/** {@link LimitWriter} on the files of cgroup v1, v2 or both (hybrid hosts). */
export class CgroupLimitWriter implements LimitWriter {
  readonly #root: string;
  readonly #mounts: MountTable;
  readonly #version: 1 | 2;
  readonly #options: CgroupLimitWriterOptions;
  readonly #context: HandleContext;
  readonly #lowerer = new MemoryLowerer();
  readonly #siblings: SiblingWeights;
  readonly #groups = new GroupQuotas();
  readonly #settling = new Set<Promise<void>>();
  /** Paths of the container that was opened last, until they are taken. */
  #latest: { readonly of: ContainerInfo; readonly paths: CgroupPaths } | null = null;
  #scopeFailed: (container: ContainerInfo, error: unknown) => void = () => undefined;

  constructor(options: CgroupLimitWriterOptions) {
    this.#options = options;
    this.#root = options.root ?? '/';
    this.#mounts = new MountTable(this.#root);
    this.#version = options.cgroupVersion;
    this.#siblings = new SiblingWeights(options.cgroupVersion);
    this.#context = {
      lowerer: this.#lowerer,
      siblings: this.#siblings,
      groups: this.#groups,
      margin: options.margin ?? 0.05,
      formula: options.formula ?? 'linear',
      guaranteedBytes: new Map(),
      scopeFailed: (container, error) => this.#scopeFailed(container, error),
    };
  }

  /** Throws CgroupNotFoundError (ended), CgroupNamespaceError, CgroupReadOnlyError. */
  open(container: ContainerInfo): Required<LimitHandle> {
    const paths = resolveCgroups(container.pid, container.id, this.#mounts);
    this.#latest = { of: container, paths };
    const version = paths.memory?.version ?? paths.cpu?.version ?? this.#version;
    const { scopes } = this.#options;
    const scopeOf = (unit: string): SystemdScope | null =>
      scopes ? new SystemdScope(unit, version, scopes, this.#root, this.#settling) : null;
    const scope = scopeOf(paths.unit);
    const { pod, user } = container;
    if (pod === undefined) return new CgroupLimitHandle(container, paths, this.#context, scope);
    const ofPod = podCgroups(paths, pod.uid);
    // Within a pod no weight is written, so its containers have no siblings to compare with.
    const context = { ...this.#context, siblings: new SiblingWeights(this.#version) };
    const inner = new CgroupLimitHandle(container, paths, context, scope);
    try {
      const outer = { ...container, user: pod.user };
      // Its scope has the weight that kubelet gave it, by a formula that may not be the runtime's.
      const podHandle = new CgroupLimitHandle(outer, ofPod, this.#context, scopeOf(ofPod.unit));
      return new PodLimitHandle(user, pod.user, inner, podHandle);
    } catch (error) {
      inner.close();
      throw error;
    }
  }

  /** The cgroups of the container that was opened last, for its counters; once. */
  takePaths(container: ContainerInfo): CgroupPaths | null {
    const latest = this.#latest;
    this.#latest = null;
    return latest?.of === container ? latest.paths : null;
  }

  /** The nearest weight that the kernel can express: v2 weights may differ by 20 % and more. */
  expressible(shares: number, userShares = 1024): number {
    const requested = clampShares(shares);
    if (this.#version === 1) return requested;
    const base = runtimeWeight(userShares, this.#context.formula);
    return sharesOfWeight(scaledWeight(requested, userShares, base), userShares, base);
  }

  siblingFactor(): number {
    return this.#siblings.factor();
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
    this.#groups.close();
    return this.#lowerer.close();
  }
}
